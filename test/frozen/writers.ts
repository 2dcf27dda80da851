/** Clients that create and update all the time, and note what they were told. */
import type { Acknowledged } from '../support/losses.ts'

const PAUSE_MS = 20 // after a refusal

export interface Told {
  readonly acknowledged: number
  readonly statuses: ReadonlyMap<number, number>
  /** Refusals that were no OperationOutcome. */
  readonly unclean: readonly string[]
  /** Milliseconds of the longest answer. */
  readonly longest: number
}

const nothing = () => ({ acknowledged: 0, statuses: new Map<number, number>(), unclean: [] as string[], longest: 0 })

interface Written {
  readonly id: string
  readonly meta: { readonly versionId: string }
}

/** They begin at once; `take` tells what they were told since the last time. */
export const createWriters = (address: string, count: number) => {
  const known = { created: [] as string[], versions: new Map<string, number>() }
  let told = nothing()
  let isOver = false

  const send = async (method: string, path: string, body: object): Promise<Written | undefined> => {
    const started = performance.now()
    const headers = { 'content-type': 'application/fhir+json' }
    const answer = await fetch(`${address}${path}`, { method, headers, body: JSON.stringify(body) })
    const text = await answer.text()
    told.longest = Math.max(told.longest, performance.now() - started)
    told.statuses.set(answer.status, (told.statuses.get(answer.status) ?? 0) + 1)
    if (answer.ok) {
      told.acknowledged += 1
      return JSON.parse(text) as Written
    }
    if (!text.startsWith('{"resourceType":"OperationOutcome"'))
      told.unclean.push(`${answer.status} ${text.slice(0, 80)}`)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    return undefined
  }
  const write = async (writer: number): Promise<void> => {
    const id = `w${writer}`
    for (let n = 0; !isOver; n += 1) {
      const created = await send('POST', '/Patient', { resourceType: 'Patient', active: true })
      if (created !== undefined) known.created.push(created.id)
      const code = { text: `${n}` }
      const updated = await send('PUT', `/Basic/${id}`, { resourceType: 'Basic', id, code })
      if (updated !== undefined) known.versions.set(id, Number(updated.meta.versionId))
    }
  }
  const running = Promise.all(Array.from({ length: count }, (_, writer) => write(writer)))
  return {
    known: known as Acknowledged,
    take(): Told {
      const taken = told
      told = nothing()
      return taken
    },
    async stop(): Promise<void> {
      isOver = true
      await running
    },
  }
}
