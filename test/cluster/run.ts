/**
 * Named checks of a cluster, for longer than the tests do: `npm run check:cluster -- [name] [how much] [seed]`, or all of them.
 * `pairs`: so many writes at the primary, each read at a replica with its token (100,000).
 * `tokens`: so many reads at two replicas with the tokens of writes, each by many connections at once (1,000,000).
 * `simulation`: so many steps of the lease and of the feed in simulated histories (1,000,000), and a planted fault of each rule.
 * `fences`: so many checks that keep servers apart (all), each of them taken out: a test has to fail. The seed is the number of
 * the first one.
 * `takeover`: so many takeovers after each of SIGKILL, SIGSTOP and SIGTERM (20), and how long changes were refused.
 * `start`: three servers that start at the same moment, so many times (100).
 * `kills`: the server that writes is killed every five seconds for so many minutes (10).
 * `disk`: the disk of a server on SQLite fails so many times, and is slow (5); needs strace.
 * `mixed`: so many minutes of faults by chance under mixed load, on a primary, a standby and a replica (30), then half as many
 * minutes without faults, in which memory is to be flat.
 */
import { openCluster } from './cluster-place.ts'
import { checkFailingDisk } from './failing-disk.ts'
import { checkMixedFaults } from './mixed-faults.ts'
import { checkFences, FENCES } from './planted-fences.ts'
import { readOwnWrites } from './read-own-writes.ts'
import { checkRepeatedKills } from './repeated-kills.ts'
import { checkSimulations } from './simulations.ts'
import { checkStartsTogether } from './starts-together.ts'
import { checkTakeovers } from './takeovers.ts'
import { readWithTokens } from './token-reads.ts'

/** Resolves with a sentence for each thing that was wrong. */
type Check = (much: number, seed: number) => Promise<readonly string[]>

const pairs: Check = async (much) => {
  const place = await openCluster(2)
  try {
    const began = performance.now()
    const { pairs: done, stale, back, torn } = await readOwnWrites(place, much)
    const seconds = Math.round((performance.now() - began) / 1000)
    console.log(
      `${done} pairs in ${seconds} s: ${stale.length} stale, ${back.length} went back, ${torn.length} pages torn`,
    )
    return [...stale, ...back, ...torn]
  } finally {
    await place.stop()
  }
}

const tokens: Check = async (much) => {
  const place = await openCluster(2)
  try {
    const began = performance.now()
    const { writes, right, newer, stale, refused } = await readWithTokens(place, much)
    const seconds = Math.round((performance.now() - began) / 1000)
    const refusals = [...refused].map(([status, count]) => `${count} reads were answered ${status}`)
    console.log(
      `${right + newer + stale.length} reads of ${writes} writes in ${seconds} s: ${right} showed the write, ` +
        `${newer} a newer one, ${stale.length} were stale; refused: ${refusals.join(', ') || 'none'}`,
    )
    return [...stale, ...refusals]
  } finally {
    await place.stop()
  }
}

const CHECKS: Readonly<Record<string, { readonly much: number; readonly check: Check }>> = {
  pairs: { much: 100_000, check: pairs },
  tokens: { much: 1_000_000, check: tokens },
  simulation: { much: 1_000_000, check: checkSimulations },
  fences: { much: FENCES.length, check: checkFences },
  takeover: { much: 20, check: checkTakeovers },
  start: { much: 100, check: checkStartsTogether },
  kills: { much: 10, check: checkRepeatedKills },
  disk: { much: 5, check: checkFailingDisk },
  mixed: { much: 30, check: checkMixedFaults },
}

const [name, much, seed = '1'] = process.argv.slice(2)
let wrong = 0
for (const [own, { much: usual, check }] of Object.entries(CHECKS)) {
  if (name !== undefined && name !== own) continue
  const found = await check(much === undefined ? usual : Number(much), Number(seed))
  console.log(`${found.length === 0 ? 'ok   ' : 'WRONG'} ${own} ${found.slice(0, 10).join('\n')}`)
  wrong += found.length
}
if (name !== undefined && CHECKS[name] === undefined) {
  console.log(`no check is called ${name}; there are ${Object.keys(CHECKS).join(', ')}`)
  wrong += 1
}
process.exit(wrong === 0 ? 0 : 1)
