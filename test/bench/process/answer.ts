/** The measured process's side of `subject.ts`: answers questions by kind. */
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import process from 'node:process'
import { type Turns, watchTurns } from '../../support/watch-turns.ts'

interface Question {
  readonly number: number
  readonly kind: string
  readonly payload: any
}

export type Answers = Readonly<Record<string, (payload: any) => unknown>>

const SAMPLE_MICROS = 200

const cpu = () => {
  const { user, system } = process.cpuUsage()
  return { micros: user + system, rss: process.memoryUsage.rss() }
}

let turns: Turns | undefined

/** Longest turns of the main thread since the last time; watched from the first on. */
const takeTurns = () => {
  turns ??= watchTurns()
  return turns.take()
}

let session: Session | undefined

/** Of the main thread, from here on. */
const startProfile = async (): Promise<void> => {
  session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROS })
  await session.post('Profiler.start')
}

const stopProfile = async (path: string): Promise<void> => {
  const stopped = await session?.post('Profiler.stop')
  session?.disconnect()
  writeFileSync(path, JSON.stringify(stopped?.profile))
}

/** Answers `cpu`, profiles, and what `answers` names; must name `stop`. Ends when the parent lets go. */
export const answerWith = (answers: Answers): void => {
  const known: Answers = { cpu, startProfile, stopProfile, takeTurns, ...answers }
  // Stopped before, or its parent died: a server without anybody who measures it would run for ever.
  process.once('disconnect', () => process.exit())
  process.on('message', async ({ number, kind, payload }: Question) => {
    try {
      const answer = known[kind]
      if (answer === undefined) throw new Error(`asked for ${kind}`)
      process.send?.({ number, result: await answer(payload) })
    } catch (error) {
      process.send?.({ number, error: (error as Error).stack ?? String(error) })
    }
  })
}
