/** The measured process's side of `subject.ts`: answers questions by kind. */
import process from 'node:process'

interface Question {
  readonly number: number
  readonly kind: string
  readonly payload: any
}

export type Answers = Readonly<Record<string, (payload: any) => unknown>>

const cpu = () => {
  const { user, system } = process.cpuUsage()
  return { micros: user + system, rss: process.memoryUsage.rss() }
}

/** Answers `cpu` and what `answers` names; must name `stop`. Ends when the parent lets go. */
export const answerWith = (answers: Answers): void => {
  const known: Answers = { cpu, ...answers }
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
