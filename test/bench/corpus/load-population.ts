/** Sends a population to a server: organizations and practitioners first, then patients in any order, several at once. */
import type { PopulationBundle } from './population.ts'
import type { Dice } from './random.ts'

export interface LoadedPopulation {
  readonly bundles: number
  /** Resources of the Bundles that were taken. */
  readonly resources: number
  readonly seconds: number
  /** Bundles that were not taken: what was answered. */
  readonly refused: readonly { readonly name: string; readonly status: number; readonly text: string }[]
}

export interface PopulationLoad {
  /** `http://127.0.0.1:8080` */
  readonly address: string
  readonly bundles: readonly PopulationBundle[]
  readonly connections: number
  /** Chooses the order. */
  readonly dice: Dice
}

const shuffled = <T>(list: readonly T[], dice: Dice): T[] => {
  const out = [...list]
  for (let at = out.length - 1; at > 0; at -= 1) {
    const other = dice.below(at + 1)
    ;[out[at], out[other]] = [out[other] as T, out[at] as T]
  }
  return out
}

export const loadPopulation = async ({
  address,
  bundles,
  connections,
  dice,
}: PopulationLoad): Promise<LoadedPopulation> => {
  const refused: { name: string; status: number; text: string }[] = []
  let resources = 0
  const send = async ({ name, text, entries }: PopulationBundle): Promise<void> => {
    const headers = { 'content-type': 'application/fhir+json', prefer: 'return=minimal' }
    const answer = await fetch(address, { method: 'POST', headers, body: text })
    const body = await answer.text()
    if (answer.status === 200) resources += entries
    else refused.push({ name, status: answer.status, text: body })
  }
  const sendAll = async (queue: PopulationBundle[]): Promise<void> => {
    const lane = async (): Promise<void> => {
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) await send(one)
    }
    await Promise.all(Array.from({ length: connections }, lane))
  }
  const started = performance.now()
  await sendAll(bundles.filter(({ isOfPatients }) => !isOfPatients))
  const patients = bundles.filter(({ isOfPatients }) => isOfPatients)
  await sendAll(shuffled(patients, dice))
  return { bundles: bundles.length, resources, seconds: (performance.now() - started) / 1000, refused }
}
