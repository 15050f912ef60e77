"""The window: frame, menus, wiring; no logic of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QDir, QEvent, Qt, Signal
from PySide6.QtGui import QActionGroup, QCloseEvent, QGuiApplication
from PySide6.QtWidgets import QDialog, QFileDialog, QHBoxLayout, QMainWindow, QMenu, QVBoxLayout, QWidget

from strandline_gui.actions import Command, make_actions
from strandline_gui.models.columns import COLUMNS, Column
from strandline_gui.options import Options
from strandline_gui.pages import store_states
from strandline_gui.pages.session_columns import USUAL
from strandline_gui.pages.sessions_page import SessionsPage
from strandline_gui.theme import Role, Size, Space, Text, ThemeChoice, font, theme
from strandline_gui.widgets.button import Button, Look
from strandline_gui.widgets.frame import Navigation, StatusBar, TopBar
from strandline_gui.widgets.labels import Ground, TokenLabel

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QAction, QResizeEvent

    from strandline.rows import DirectoryView
    from strandline_gui.bridge import Bridge


class MainWindow(QMainWindow):
    """One directory, its pages, and everything that can be done with them.

    Signals:
        close_asked: a person or the system wants the window gone; it stays until ``close_for_good``.
        directory_asked: a person chose a directory.
        sample_asked: a person wants to see the sample.
        reload_asked: a person wants the present directory looked at again.
        options_changed: something worth remembering is another way now.
    """

    close_asked = Signal()
    directory_asked = Signal(str)
    sample_asked = Signal()
    reload_asked = Signal()
    options_changed = Signal()

    def __init__(self, options: Options, *, clock: Callable[[], int] | None = None) -> None:
        super().__init__()
        self._may_close = False
        self._view: Callable[[], DirectoryView] | None = None
        self.top_bar = TopBar()
        self.navigation = Navigation()
        self.page = SessionsPage(clock)
        self.status = StatusBar()
        self.actions_by_command = make_actions(
            self,
            {
                Command.OPEN_DIRECTORY: self._choose_directory,
                Command.OPEN_SAMPLE: self.sample_asked.emit,
                Command.RELOAD: self.reload_asked.emit,
                Command.QUIT: self.close_asked.emit,
                Command.COPY_KEY: self.page.copy_key,
                Command.COPY_ROW: self.page.copy_row,
                Command.COPY_PATH: self._copy_path,
                Command.FILTER: self.page.focus_filter,
                Command.ABOUT: self._about,
            },
        )
        self._lay_out()
        self._fill_menus()
        self._wire()
        self._apply(options)
        self.show_opening("")

    def show_opening(self, path: str) -> None:
        """Show that a directory is being opened."""
        self._view = None
        self.page.show_opening()
        self._show_source(path)

    def show_directory(self, view: Callable[[], DirectoryView], bridge: Bridge) -> None:
        """Show a directory; ``view`` says what is known of it at the time of the call."""
        self._view = view
        self.page.attach(view, bridge)
        self._show_source()
        bridge.store_updated.connect(self._show_summary)
        bridge.directory_updated.connect(self._show_summary)

    def show_failure(self, path: str, sentence: str) -> None:
        """Show that a directory could not be opened."""
        self._view = None
        self.page.show_failure(sentence)
        self._show_source(path)

    def tell(self, sentence: str) -> None:
        """Show in the notice line what was done."""
        self.status.tell(sentence, failed=False)

    def tell_failure(self, sentence: str) -> None:
        """Show in the notice line what failed; it stays until it is dismissed."""
        self.status.tell(sentence, failed=True)

    def options(self) -> Options:
        """Return what is worth remembering."""
        header, wanted = self.page.table.horizontalHeader(), self.page.columns.wanted
        return Options(
            width=self.width(),
            height=self.height(),
            theme=theme().choice,
            columns=None if wanted == USUAL else tuple(column.name for column in sorted(wanted)),
            widths={
                column.name: header.sectionSize(column)
                for column in Column
                if column is not Column.NAME
                and not header.isSectionHidden(column)
                and header.sectionSize(column) != COLUMNS[column].width
            },
        )

    def close_for_good(self) -> None:
        """Close the window; nothing holds it any more."""
        self._may_close = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask for the end instead of closing, until everything behind the window has ended."""
        if self._may_close:
            event.accept()
            return
        event.ignore()
        self.close_asked.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the navigation the width it deserves."""
        super().resizeEvent(event)
        self.navigation.fit(self.width())

    def changeEvent(self, event: QEvent) -> None:
        """Repaint everything when the scheme changes."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()

    def _lay_out(self) -> None:
        body = QHBoxLayout()
        body.setSpacing(0)
        body.addWidget(self.navigation)
        body.addWidget(self.page, 1)
        central = QWidget()
        layout = QVBoxLayout(central)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.top_bar)
        layout.addLayout(body, 1)
        layout.addWidget(self.status)
        self.setCentralWidget(central)
        self.setMinimumSize(Size.WINDOW_MINIMUM_WIDTH, Size.WINDOW_MINIMUM_HEIGHT)
        chip = self.top_bar.chip.button
        for first, second in (
            (chip, self.navigation.sessions),
            (self.navigation.sessions, self.page.filter_field.edit),
        ):
            QWidget.setTabOrder(first, second)

    def _fill_menus(self) -> None:
        actions, bar = self.actions_by_command, self.menuBar()
        bar.setFont(font(Text.BODY))
        file = self._menu(self.tr("&File"))
        file.addActions([actions[Command.OPEN_DIRECTORY], actions[Command.OPEN_SAMPLE]])
        file.addSeparator()
        file.addAction(actions[Command.RELOAD])
        file.addSeparator()
        file.addAction(actions[Command.QUIT])
        edit = self._menu(self.tr("&Edit"))
        edit.addActions([actions[Command.COPY_KEY], actions[Command.COPY_ROW]])
        edit.addSeparator()
        edit.addAction(actions[Command.FILTER])
        view = self._menu(self.tr("&View"))
        view.addMenu(self._theme_menu(view))
        columns = self._submenu(view, self.tr("&Columns"))
        columns.aboutToShow.connect(lambda: self.page.columns.fill_menu(columns))
        sorting = self._submenu(view, self.tr("&Sort by"))
        sorting.aboutToShow.connect(lambda: self.page.columns.fill_sort_menu(sorting))
        self._menu(self.tr("&Help")).addAction(actions[Command.ABOUT])
        self.top_bar.chip.set_actions(
            [
                actions[Command.OPEN_DIRECTORY],
                actions[Command.OPEN_SAMPLE],
                actions[Command.COPY_PATH],
                actions[Command.RELOAD],
            ]
        )

    def _menu(self, title: str) -> QMenu:
        menu = self.menuBar().addMenu(title)
        menu.setFont(font(Text.BODY))
        return menu

    def _submenu(self, parent: QMenu, title: str) -> QMenu:
        menu = parent.addMenu(title)
        menu.setFont(font(Text.BODY))
        return menu

    def _theme_menu(self, parent: QMenu) -> QMenu:
        menu = QMenu(self.tr("&Theme"), parent)
        menu.setFont(font(Text.BODY))
        group = QActionGroup(menu)
        self._themes: dict[str, QAction] = {}
        choices: tuple[tuple[ThemeChoice, str], ...] = (
            ("system", self.tr("&System")),
            ("light", self.tr("&Light")),
            ("dark", self.tr("&Dark")),
        )
        for choice, words in choices:
            action = menu.addAction(words)
            action.setCheckable(True)
            group.addAction(action)
            action.triggered.connect(self._theme_chooser(choice))
            self._themes[choice] = action
        return menu

    def _theme_chooser(self, choice: ThemeChoice) -> Callable[[], None]:
        def choose() -> None:
            theme().choose(choice)
            self.options_changed.emit()

        return choose

    def _wire(self) -> None:
        page = self.page
        page.open_sample_asked.connect(self.sample_asked)
        page.open_directory_asked.connect(self._choose_directory)
        page.retry_asked.connect(self.reload_asked)
        page.told.connect(self.tell)
        page.rows_changed.connect(self._show_summary)
        page.columns.changed.connect(self.options_changed)

    def _apply(self, options: Options) -> None:
        self.resize(options.width or Size.WINDOW_WIDTH, options.height or Size.WINDOW_HEIGHT)
        names = {column.name: column for column in Column}
        if options.columns is not None:
            self.page.columns.show(names[name] for name in options.columns if name in names)
        for name, width in options.widths.items():
            if name in names and Size.ROW <= width <= Size.WINDOW_WIDTH:
                self.page.table.horizontalHeader().resizeSection(names[name], width)
        self._themes[theme().choice].setChecked(True)

    def _show_source(self, path: str = "") -> None:
        view = self._view() if self._view else None
        if view is None:
            self.top_bar.chip.show_source(path, path, "", sample=False)
            self.setWindowTitle("Strandline")
        else:
            mode = self.tr("Observing") if view.mode == "observe" else view.mode
            tip = f"{view.path}\n{view.found_by}"
            self.top_bar.chip.show_source(view.title, tip, mode, sample=view.sample)
            self.setWindowTitle(self.tr("{directory} – Strandline").format(directory=view.title))
        path_known = bool(view or path)
        self.actions_by_command[Command.COPY_PATH].setEnabled(path_known)
        self.actions_by_command[Command.RELOAD].setEnabled(path_known)
        self._show_summary()

    def _show_summary(self, _event: object = None) -> None:
        view = self._view() if self._view else None
        model = self.page.model
        self.navigation.sessions.show_count(store_states.count_of(view, model.total) if view else "")
        facts = store_states.summary_of(view, model.total, model.newest_change, model.now_ms()) if view else ()
        self.status.show_facts(facts)

    def _choose_directory(self) -> None:
        dialog = QFileDialog(self, self.tr("Open a state directory"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        # State directories usually begin with a dot.
        dialog.setFilter(QDir.Filter.AllDirs | QDir.Filter.Hidden | QDir.Filter.NoDotAndDotDot)
        dialog.fileSelected.connect(self.directory_asked)
        dialog.open()

    def _copy_path(self) -> None:
        view = self._view() if self._view else None
        if view is not None:
            QGuiApplication.clipboard().setText(view.path)
            self.tell(self.tr("Copied {path}").format(path=view.path))

    def _about(self) -> None:
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - costs start-up 15 ms

        try:
            number = version("strandline")
        except PackageNotFoundError:
            number = self.tr("from a checkout")
        dialog = QDialog(self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(self.tr("About Strandline"))
        ground = Ground(Role.SURFACE)
        inner = QVBoxLayout(ground)
        inner.setContentsMargins(Space.XL, Space.XL, Space.XL, Space.XL)
        inner.setSpacing(Space.S)
        inner.addWidget(TokenLabel("Strandline", Text.HEADING))
        inner.addWidget(TokenLabel(self.tr("Version {version}").format(version=number), Text.BODY, Role.MUTED))
        inner.addWidget(
            TokenLabel(self.tr("A desktop console for people who run OpenClaw agents. MIT licence."), Text.BODY)
        )
        close = Button(self.tr("Close"), look=Look.OUTLINED)
        close.clicked.connect(dialog.close)
        inner.addSpacing(Space.S)
        inner.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
        layout = QVBoxLayout(dialog)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(ground)
        dialog.open()
