/**
 * Named checks of a cluster, for longer than the tests do: `npm run check:cluster -- [name] [how much]`, or all of them.
 * `pairs`: so many writes at the primary, each read at a replica with its token (100,000).
 */
import { type ClusterPlace, openCluster } from './cluster-place.ts'
import { readOwnWrites } from './read-own-writes.ts'

/** Resolves with a sentence for each thing that was wrong. */
type Check = (place: ClusterPlace, much: number) => Promise<readonly string[]>

const pairs: Check = async (place, much) => {
  const began = performance.now()
  const { pairs: done, stale, back, torn } = await readOwnWrites(place, much)
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(
    `${done} pairs in ${seconds} s: ${stale.length} stale, ${back.length} went back, ${torn.length} pages torn`,
  )
  return [...stale, ...back, ...torn]
}

const CHECKS: Readonly<Record<string, { readonly much: number; readonly replicas: number; readonly check: Check }>> = {
  pairs: { much: 100_000, replicas: 2, check: pairs },
}

const [name, much] = process.argv.slice(2)
let wrong = 0
for (const [own, { much: usual, replicas, check }] of Object.entries(CHECKS)) {
  if (name !== undefined && name !== own) continue
  const place = await openCluster(replicas)
  try {
    const found = await check(place, much === undefined ? usual : Number(much))
    console.log(`${found.length === 0 ? 'ok   ' : 'WRONG'} ${own} ${found.slice(0, 5).join('\n')}`)
    wrong += found.length
  } finally {
    await place.stop()
  }
}
if (name !== undefined && CHECKS[name] === undefined) {
  console.log(`no check is called ${name}; there are ${Object.keys(CHECKS).join(', ')}`)
  wrong += 1
}
process.exit(wrong === 0 ? 0 : 1)
