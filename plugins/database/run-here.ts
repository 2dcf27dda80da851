/** Runs the module of `apart` on this thread, which other work gets back before each page. */
import type { Apart, Reading } from './service.ts'

const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export const runHere = async <I, O>(module: URL, reading: Reading, input: I): Promise<O> => {
  const { default: work } = (await import(module.href)) as { default: Apart<I, O> }
  return work(
    {
      async all<R>(...asked: Parameters<Reading['all']>) {
        await breathe()
        return reading.all<R>(...asked)
      },
    },
    input,
  )
}
