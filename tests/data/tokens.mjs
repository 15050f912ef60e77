// Asks the compiled code of openclaw 2026.5.22 and writes its answers:
//   node tests/data/tokens.mjs NODE_MODULES tests/data/tokens.json
import fs from "node:fs";
import path from "node:path";
const MODULES=path.resolve(process.argv[2]);
const D=MODULES+"/openclaw/dist/";
const usage=await import(D+"usage-DKNTRfvn.js");
const guard=await import(D+"context-window-guard-BAul1ZXt.js");
const pi=await import(D+"pi-settings-3KMJpQrg.js");
const ctx=await import(D+"context-L0xQd5wI.js");
const pre=await import(D+"attempt.tool-run-context-QAUT7ucg.js");
const types=await import(D+"types-BgvyBC-3.js");
const comp=await import(MODULES+"/@earendil-works/pi-coding-agent/dist/core/compaction/compaction.js");
// memory-flush region of the bundle, which exports nothing
const text=fs.readFileSync(D+"agent-runner.runtime-C3rgesYz.js","utf8");
const region=text.slice(text.indexOf("function resolvePositiveTokenCount"),text.indexOf("//#region src/auto-reply/reply/agent-runner-memory.ts"));
const flush=new Function("resolveFreshSessionTotalTokens",region+";return {shouldRunMemoryFlush,shouldRunPreflightCompaction,hasAlreadyFlushedForCurrentCompaction,resolveMemoryFlushGateState}")(types.o);

const out={};
const raws=[];
for (const k of ["input","inputTokens","input_tokens","promptTokens","prompt_tokens","prompt_n","output","outputTokens","output_tokens","completionTokens","completion_tokens","predicted_n","cacheRead","cache_read","cache_read_input_tokens","cached_tokens","cacheWrite","cache_write","cache_creation_input_tokens","reasoningTokens","reasoning_tokens","total","totalTokens","total_tokens"]) raws.push({[k]:7});
raws.push({timings:{prompt_n:5,predicted_n:6}},{input_tokens_details:{cached_tokens:4},input_tokens:10},{prompt_tokens_details:{cached_tokens:4},prompt_tokens:10,completion_tokens:3,total_tokens:13},
{prompt_tokens:10,cached_tokens:20},{input:10,cached_tokens:4},{input:10,cacheRead:3,cached_tokens:4},{input:10,cached_tokens:null},{input:10,input_tokens_details:{cached_tokens:null}},{input:10,input_tokens_details:{}},{cacheRead:3,input_tokens:10,input_tokens_details:{cached_tokens:2}},
{completion_tokens_details:{reasoning_tokens:5}},{output_tokens_details:{reasoning_tokens:5}},
{input:-5,output:"12",totalTokens:1.9},{input:null,inputTokens:4},{input:"x",inputTokens:4},{input:true},{input:0,output:0,cacheRead:0,cacheWrite:0,totalTokens:0},{input:1e300},{input:9007199254740993},{},null,"text",5,[],{input:[]},{total:0.4},{input:2.7,cached_tokens:0.5},{input:-3,cached_tokens:2},{output:-0.1},{input:100,output:5,cacheRead:40,cacheWrite:7,totalTokens:152},
{usage:{input:4}},{input:3,cost:{total:1}},{input_tokens:2095,output_tokens:503,cache_read_input_tokens:100,cache_creation_input_tokens:30},{prompt_tokens_details:null,prompt_tokens:3},{prompt_tokens_details:5,prompt_tokens:3},{prompt_tokens_details:"abc",prompt_tokens:3},{timings:null,input:3},{timings:[],output:3},{cached_tokens:"4",input:9},{cached_tokens:-4,input:9},{cacheRead:0,cached_tokens:4,input:9});
const clean=(v)=>v===undefined?null:v;
out.usage=raws.map(raw=>{let u;try{u=usage.o(raw)}catch(e){return {raw,throws:true}};return {raw,normalised:clean(u),prompt:clean(usage.n(u)),nonzero:usage.i(u)}});

const cfgs=[
 {},
 {models:{providers:{demo:{models:[{id:"demo-tiny",contextWindow:32000},{id:"demo-large",contextWindow:1000000}]}}}},
 {models:{providers:{demo:{models:[{id:"m",contextTokens:5000,contextWindow:9000}]}}}},
 {models:{providers:{demo:{models:[{id:"m",contextWindow:9000}]}}},agents:{defaults:{contextTokens:7000}}},
 {models:{providers:{demo:{models:[{id:"m",contextWindow:9000}]}}},agents:{defaults:{contextTokens:700000}}},
 {agents:{defaults:{contextTokens:120000}}},
 {models:{providers:{anthropic:{models:[{id:"claude-opus-4-6",contextWindow:200000},{id:"claude-3-5-haiku",contextWindow:150000}]}}}},
 {models:{providers:{"anthropic-cli":{models:[{id:"claude-sonnet-4-6",contextWindow:123000}]}}}},
 {models:{providers:{"Z.AI":{models:[{id:"glm",contextWindow:64000}]},zai:{models:[{id:"glm",contextWindow:65000}]}}}},
 {models:{providers:{a:{models:[{id:"x",contextWindow:11000}]},b:{models:[{id:"x",contextWindow:22000}]}}}},
];
const refs=[["demo","demo-tiny"],["demo","demo-large"],["demo","m"],["anthropic","claude-opus-4-6"],["anthropic","Claude-Sonnet-4-5"],["anthropic","claude-3-5-haiku"],["claude-cli","claude-sonnet-4-6"],["anthropic-cli","claude-sonnet-4-6"],["openrouter","anthropic/claude-opus-4-6"],["anthropic","x/claude-opus-4"],["zai","glm"],["Z.AI","glm"],["a","x"],["b","x"],["c","x"],["Demo","m"]];
out.configs=cfgs; out.windows=[];
for (const cfg of cfgs) for (const [provider,model] of refs) for (const own of [null,300000]) {
  const run=guard.a({cfg,provider,modelId:model,modelContextWindow:own??undefined,defaultTokens:200000});
  ctx.s(); const cache=undefined;
  ctx.n({cache:{set(){}} , modelsConfig:cfg.models});
  const over=cfg.agents?.defaults?.contextTokens;
  const second=ctx.o({cfg,provider,model,contextTokensOverride:over,allowAsyncLoad:false})??null;
  out.windows.push({cfg:cfgs.indexOf(cfg),provider,model,own,run:{tokens:run.tokens,source:run.source},second});
}
out.guard=[1000,4000,8000,16000,32000,39999,50000,200000,1000000].map(t=>{const g=guard.n({info:{tokens:t,source:"model"}});return {tokens:t,hardMin:g.hardMinTokens,warnBelow:g.warnBelowTokens,warn:g.shouldWarn,block:g.shouldBlock}});
out.reserve=[];
for (const window of [1,2,100,4000,15999,16000,16001,20000,27999,28000,32000,200000,1000000]) for (const reserveTokens of [undefined,0,2000,16384,40000,930000]) for (const reserveTokensFloor of [undefined,0,5000,50000]) {
  const compaction={}; if(reserveTokens!==undefined)compaction.reserveTokens=reserveTokens; if(reserveTokensFloor!==undefined)compaction.reserveTokensFloor=reserveTokensFloor;
  const cfg={agents:{defaults:{compaction}}};
  const r=pi.r({cfg,contextTokenBudget:window,settingsManager:{getCompactionReserveTokens:()=>16384,getCompactionKeepRecentTokens:()=>20000,applyOverrides(){}}}).compaction.reserveTokens;
  const p=pre.a({messages:[],prompt:"x",systemPrompt:"",contextTokenBudget:window,reserveTokens:r});
  // last count of tokens after which pi compacts nothing
  const pi_limit=window-r;
  const g=flush.resolveMemoryFlushGateState({entry:{totalTokens:1},contextWindowTokens:window,reserveTokensFloor:reserveTokensFloor??20000,softThresholdTokens:4000});
  out.reserve.push({window,reserveTokens:reserveTokens??null,floor:reserveTokensFloor??null,reserve:r,precheckBudget:p.promptBudgetBeforeReserve,precheckReserve:p.effectiveReserveTokens,afterTurn:pi_limit,piAtLimit:comp.shouldCompact(pi_limit,window,{enabled:true,reserveTokens:r}),piAbove:comp.shouldCompact(pi_limit+1,window,{enabled:true,reserveTokens:r}),flush:g?g.threshold:null});
}
out.flushed=[];
for (const cc of [undefined,null,0,1,2]) for (const mf of [undefined,null,0,1,"0"]) for (const total of [175999,176000,190000]) {
  const entry={totalTokens:total}; if(cc!==undefined)entry.compactionCount=cc; if(mf!==undefined)entry.memoryFlushCompactionCount=mf;
  out.flushed.push({entry,already:flush.hasAlreadyFlushedForCurrentCompaction(entry),run:flush.shouldRunMemoryFlush({entry,contextWindowTokens:200000,reserveTokensFloor:20000,softThresholdTokens:4000})});
}
out.fresh=[{totalTokens:5},{totalTokens:5,totalTokensFresh:false},{totalTokens:5,totalTokensFresh:null},{totalTokens:5,totalTokensFresh:"false"},{totalTokens:0},{totalTokens:-5},{totalTokens:"5"},{totalTokens:null,totalTokensFresh:true},{},{totalTokens:1.5}].map(entry=>({entry,fresh:clean(types.o(entry))}));
out.silent=[["zai","x"],["Z.AI","x"],["z-ai","x"],["openrouter","z-ai/glm-4.6"],["openrouter","openrouter/z-ai/glm"],["ollama","ollama/glm-4"],["ollama","GLM-4"],["demo","glm"],["demo","my-glm-4"],["",""],["openai","gpt-5.5"]].map(([provider,model])=>({provider,model,silent:pi.i({provider,modelId:model})}));
fs.writeFileSync(process.argv[3],JSON.stringify(out)+"\n");
console.log(Object.entries(out).map(([k,v])=>k+" "+v.length).join(", "));
process.exit(0);
