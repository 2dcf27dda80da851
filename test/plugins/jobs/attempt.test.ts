/** A worker that cannot reach the database stops itself before its lease ends. Row K25. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Logger } from '../../../kernel/index.ts'
import type { Database } from '../../../plugins/database/service.ts'
import { beginAttempt } from '../../../plugins/jobs/attempt.ts'
import type { JobRow } from '../../../plugins/jobs/tables.ts'
import { TIMES } from '../../../plugins/jobs/times.ts'
import { createManualClock } from '../../support/manual-clock.ts'

const silent = { debug: () => undefined, warn: () => undefined } as unknown as Logger
const row = { id: 'one', kind: 'test', state: 'running', server: 's', starts: 1, progress: '' } as JobRow

for (const [what, transact] of [
  ['refuses', () => Promise.reject(new Error('away'))],
  ['does not answer', () => new Promise<never>(() => undefined)],
] as const)
  test(`a database that ${what} for 20 seconds ends the attempt, and not earlier`, async () => {
    const clock = createManualClock()
    const database = { transact } as unknown as Database
    let signal: AbortSignal | undefined
    const work = (job: { readonly signal: AbortSignal }): Promise<void> => {
      signal = job.signal
      return new Promise((_resolve, reject) => job.signal.addEventListener('abort', () => reject(job.signal.reason)))
    }
    const attempt = beginAttempt({ database, clock, log: silent, times: TIMES }, { kind: 'test', run: work }, row)
    await clock.advance(20_000)
    assert.is(signal?.aborted, false)
    await clock.advance(2_000)
    assert.is(signal?.aborted, true)
    await attempt.done
  })

test.run()
