/** Figure H: what a hook costs per call, above all one that nobody taps. Design: hooks on the hot path. */
import { createKernel, definePlugin, type Hooks, type RequestContext, type Runners } from '../../../kernel/index.ts'
import type { Bench, Figure } from '../bench.ts'
import { median, spreadOf } from '../compare.ts'

const UNUSED_NS = 5 // design: 1.8 measured, against 58 through tapable
const BATCH = 100_000 // calls between two looks at the clock
const REQUEST = {} as RequestContext

const runnersWith = async (tap: (hooks: Hooks) => void): Promise<Runners> => {
  let run: Runners | undefined
  const plugin = definePlugin({
    name: 'bench',
    setup(host) {
      tap(host.hooks)
      run = host.run
    },
  })
  await createKernel({ plugins: [plugin], log: { level: 'silent' } })
  return run as Runners
}

type Batch = (calls: number) => number | Promise<number>

/** What is compared; each adds up what it does, so that nothing can be left out. */
const createBatches = async (): Promise<readonly (readonly [string, Batch])[]> => {
  const unused = await runnersWith(() => undefined)
  const tapped = await runnersWith((hooks) => {
    hooks.meter.tap('nothing', () => undefined)
    hooks.admit.tapPromise('nothing', async () => undefined)
  })
  const usage = {} as Parameters<NonNullable<Runners['meter']>>[0]
  return [
    [
      'no hook',
      (calls) => {
        let sum = 0
        for (let n = 0; n < calls; n += 1) sum += n & 1
        return sum
      },
    ],
    [
      'unused',
      // Not async: what a loop with an `await` in it costs is not the hook's doing.
      (calls) => {
        let sum = 0
        for (let n = 0; n < calls; n += 1) {
          if (unused.admit !== null) void unused.admit(REQUEST)
          sum += n & 1
        }
        return sum
      },
    ],
    [
      'one tap of meter',
      (calls) => {
        let sum = 0
        for (let n = 0; n < calls; n += 1) {
          if (tapped.meter !== null) tapped.meter(usage)
          sum += n & 1
        }
        return sum
      },
    ],
    [
      'one async tap',
      async (calls) => {
        let sum = 0
        for (let n = 0; n < calls; n += 1) {
          if (tapped.admit !== null) await tapped.admit(REQUEST)
          sum += n & 1
        }
        return sum
      },
    ],
  ]
}

/** Nanoseconds per call over one round. */
const measure = async (batch: Batch, seconds: number): Promise<number> => {
  const until = performance.now() + seconds * 1000
  const before = process.hrtime.bigint()
  let calls = 0
  do {
    await batch(BATCH)
    calls += BATCH
  } while (performance.now() < until)
  return Number(process.hrtime.bigint() - before) / calls
}

const nanos = (ns: number): string => `${ns.toFixed(1)} ns`

export const hooks: Figure = {
  name: 'hooks',
  description: 'cost of a call of a hook: unused against none, and with one tap',
  async run(bench: Bench) {
    const batches = await createBatches()
    const took = new Map<string, number[]>(batches.map(([name]) => [name, []]))
    bench.say('calling hooks')
    for (const [, batch] of batches) await measure(batch, 0.2) // until it is compiled
    for (let round = 0; round < bench.rounds; round += 1)
      for (const [name, batch] of batches) took.get(name)?.push(await measure(batch, bench.seconds / batches.length))
    const none = took.get('no hook') as number[]
    for (const [name, rounds] of took) {
      if (name === 'no hook') continue
      const extra = rounds.map((ns, round) => ns - (none[round] as number))
      const { least, most } = spreadOf(extra)
      const isUnused = name === 'unused'
      bench.report({
        figure: `H hook, ${name}`,
        required: isUnused ? `≤ ${nanos(UNUSED_NS)}` : '-',
        measured: nanos(median(extra)),
        spread: `${nanos(least)} … ${nanos(most)}`,
        ok: isUnused ? median(extra) <= UNUSED_NS : undefined,
        beside: `more than the ${nanos(median(none))} of the same loop without a hook`,
      })
    }
  },
}
