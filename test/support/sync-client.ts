/** A client of /sync: keeps what it was sent, and folds deltas into the sets of its queries. */
import { until } from './until.ts'

type Json = Record<string, any>

export interface SyncClient {
  readonly messages: Json[]
  /** By query: JSON of resources by reference. */
  readonly sets: Map<string, Map<string, Json>>
  /** Deltas that contradict what the client has, or are older. */
  readonly faults: string[]
  closed: { readonly code: number; readonly reason: string } | undefined
  send(message: Json | string): void
  /** Waits for a message; looks at those from `from` on. */
  next(isMeant: (message: Json) => boolean, from?: number): Promise<Json>
  /** Subscribes and waits until it is ready, asking for all pages. */
  subscribe(id: string, query: string, resume?: string): Promise<Json>
  /** What is still on its way for the query is ignored, so its id is not used again. */
  unsubscribe(id: string): void
  lastAt(id: string): string | undefined
  close(): Promise<void>
}

const WAIT_MS = 10_000

/** Applies a message to the sets. */
export const fold = (sets: SyncClient['sets'], faults: string[], message: Json): void => {
  const { op, id } = message
  if (op === 'reset' || (op === 'error' && message.final && id !== undefined)) sets.delete(id)
  if (op === 'page') {
    const set = sets.get(id) ?? new Map()
    sets.set(id, set)
    for (const one of message.resources) set.set(`${one.resourceType}/${one.id}`, one)
  }
  if (op === 'ready' && !sets.has(id)) sets.set(id, new Map())
  if (op !== 'delta') return
  for (const one of message.ids) {
    const set = sets.get(one) ?? new Map()
    sets.set(one, set)
    const { kind, reference, version, resource } = message
    const known = set.get(reference)
    const knownVersion = Number(known?.meta.versionId ?? 0)
    if ((kind === 'enter') !== (known === undefined)) faults.push(`${kind} of ${reference}`)
    if (version <= knownVersion && kind !== 'leave')
      faults.push(`${kind} of ${reference} ${version} <= ${knownVersion}`)
    if (kind === 'leave') {
      if (resource !== undefined) faults.push(`content in a leave of ${reference}`)
      set.delete(reference)
    } else set.set(reference, resource)
  }
}

/** `address`: of the server; headers are sent with the request. */
export const openSync = async (
  address: string,
  { headers = {} }: { readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<SyncClient> => {
  const { WebSocket: Client } = await import('ws')
  const socket = new Client(`${address.replace('http', 'ws')}/sync`, { headers })
  const messages: Json[] = []
  const sets: SyncClient['sets'] = new Map()
  const faults: string[] = []
  const lastAt = new Map<string, string>()
  const gone = new Set<string>()
  const opened = Promise.withResolvers<void>()
  const client: SyncClient = {
    messages,
    sets,
    faults,
    closed: undefined,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    async next(isMeant, from = 0) {
      let found: Json | undefined
      await until(
        () => {
          found = messages.slice(from).find(isMeant)
          return found !== undefined || client.closed !== undefined
        },
        WAIT_MS,
        `${isMeant} among ${JSON.stringify(messages.slice(-5)).slice(0, 2_000)}`,
      )
      if (found === undefined) throw new Error(`closed: ${JSON.stringify(client.closed)}`)
      return found
    },
    async subscribe(id, query, resume) {
      const from = messages.length
      client.send({ op: 'subscribe', id, query, ...(resume === undefined ? {} : { resume }) })
      return client.next((one) => one.id === id && ['ready', 'error', 'reset'].includes(one.op), from)
    },
    unsubscribe(id) {
      gone.add(id)
      sets.delete(id)
      client.send({ op: 'unsubscribe', id })
    },
    lastAt: (id) => lastAt.get(id),
    async close() {
      socket.close()
      await until(() => client.closed !== undefined, WAIT_MS, 'the close')
    },
  }
  socket.on('open', () => opened.resolve())
  socket.on('error', (error) => opened.reject(error))
  socket.on('close', (code, reason) => {
    client.closed = { code, reason: reason.toString() }
  })
  socket.on('message', (data) => {
    const message = JSON.parse(data.toString()) as Json
    const ids: readonly string[] = message.ids ?? [message.id]
    if (ids.some((id) => gone.has(id))) return
    fold(sets, faults, message)
    if (message.at !== undefined) for (const id of ids) lastAt.set(id, message.at)
    messages.push(message)
    if (message.op === 'page' && message.more) client.send({ op: 'more', id: message.id })
  })
  await opened.promise
  return client
}
