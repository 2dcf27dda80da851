/** Where CPU time went: functions of a `--cpu-prof` file by the time they took themselves, and by file. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

const FUNCTIONS = 30
const FILES = 12
const IDLE = new Set(['(idle)', '(root)'])

const placeOf = (url: string): string =>
  url.replace(/^file:\/\//, '').replace(/^.*\/(node_modules|kernel|plugins|test)\//, '$1/')

const add = (sums: Map<string, number>, key: string, time: number): void =>
  void sums.set(key, (sums.get(key) ?? 0) + time)

const toList = (sums: ReadonlyMap<string, number>, busy: number, shown: number): string =>
  [...sums]
    .sort(([, one], [, other]) => other - one)
    .slice(0, shown)
    .map(([key, time]) => `${((time / busy) * 100).toFixed(1).padStart(6)} %  ${key}`)
    .join('\n')

const print = (path: string): string => {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(path, 'utf8')) as Profile
  const byId = new Map(nodes.map((node) => [node.id, node.callFrame]))
  const functions = new Map<string, number>()
  const files = new Map<string, number>()
  let busy = 0
  for (const [at, id] of samples.entries()) {
    const frame = byId.get(id)
    const time = timeDeltas[at] ?? 0
    // The profiler's own start is no work of the server.
    if (frame === undefined || IDLE.has(frame.functionName) || frame.url === 'node:inspector') continue
    busy += time
    const place = frame.url === '' ? '' : placeOf(frame.url)
    add(
      functions,
      `${frame.functionName || '(anonymous)'} ${place}${place === '' ? '' : `:${frame.lineNumber + 1}`}`,
      time,
    )
    add(files, place === '' ? frame.functionName : place, time)
  }
  return `\n${path}: ${(busy / 1_000_000).toFixed(1)} s busy\n${toList(functions, busy, FUNCTIONS)}\n\nby file\n${toList(files, busy, FILES)}`
}

/** Every profile of the folder as text. */
export const printProfiles = (folder: string): string =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => print(join(folder, name)))
    .join('\n')
