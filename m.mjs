const step = async (m) => { const t=performance.now(); const x = await import(m); console.log(m, (performance.now()-t).toFixed(0), Object.keys(x).slice(0,30).join()) }
for (const m of process.argv.slice(2)) await step(m)
