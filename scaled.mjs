import { HistoryWriter } from './dist/bench/benchmarks/history-writer.js'
const devices = 6250, frames = Number(process.argv[2] ?? 300)
let seed = 1; const rnd = (n) => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return seed % n }
const writer = await HistoryWriter.open(10)
const values = new Float64Array(devices * 10).map(() => rnd(100))
const begin = Date.UTC(2026,0,1)
const kinds = [b=>b+(rnd(7)-3)/10,b=>b+(rnd(7)-3)/10,b=>b+(rnd(7)-3)/10,b=>b+(rnd(7)-3)/10,b=>b+rnd(20),b=>b+rnd(20),b=>rnd(20)?b:rnd(3),b=>rnd(20)?b:rnd(3),b=>b+(rnd(201)-100)/100,()=>Math.fround(rnd(1e6)/1e4)]
const t0=Date.now()
for (let f=0; f<frames; f++) {
  await writer.write(Array.from({length:devices},(_,d)=>({device:d,time:begin+f*10000+rnd(100),values:kinds.map((k,p)=>{const at=d*10+p;const v=k(values[at]);values[at]=Math.fround(v)===v?v:Math.round(v*100)/100;return values[at]})})))
}
const { cpuMs, bytes } = await writer.end()
const points=devices*10*frames
console.log(`${devices*10} series: ${(cpuMs/points*1000).toFixed(2)} µs/pt, ${(bytes/points).toFixed(2)} bytes/pt, ${(Date.now()-t0)/1000}s`)
