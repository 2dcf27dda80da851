/**
 * Reads with the token of a write: each write, at the primary or through a replica, is read by many connections at every
 * replica at once, while its resource may be changed again. P1 of the replicas, with every answer counted.
 */
import { connect, type Socket } from 'node:net'
import { readAnswer } from '../bench/client.ts'
import type { ClusterPlace } from './cluster-place.ts'

const WRITERS = 8
const IDS = 1 // resources of each writer: few, so that many are changed again while they are read
const CONNECTIONS = 24 // at each replica
const MOST_WAITING = 4 // reads that wait for a connection before a writer pauses
const SAY_EVERY = 100_000 // answers
const SEARCH_EVERY = 16 // every so manyth read is a search

const HEADERS = { 'content-type': 'application/fhir+json' }
const VERSION = /"versionId":"(\d+)"/

interface Written {
  readonly id: string
  readonly version: number
  /** In the content of this version only. */
  readonly mark: string
  readonly token: string
}

export interface TokenReads {
  readonly writes: number
  /** The very version of the token, or a later one. */
  readonly right: number
  readonly newer: number
  /** Answers that are neither, in words. */
  readonly stale: readonly string[]
  /** Answers that are not 200, by status. */
  readonly refused: ReadonlyMap<number, number>
}

interface Reader {
  read(written: Written): void
  readonly waiting: number
  close(): void
}

/** One connection with one request in flight. `onAnswer` gets the status and the body. */
const openReader = (
  address: string,
  onAnswer: (written: Written, status: number, body: string) => void,
  onError: (error: Error) => void,
): Reader => {
  const { hostname, port, host } = new URL(address)
  const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true })
  const queue: Written[] = []
  let current: Written | undefined
  let pending: Buffer | undefined
  let sent = 0
  let isClosed = false
  const next = (): void => {
    current = queue.shift()
    if (current === undefined) return
    sent += 1
    const { id, token } = current
    const path = sent % SEARCH_EVERY === 0 ? `/Patient?_id=${id}` : `/Patient/${id}`
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nX-Snapshot: ${token}\r\n\r\n`)
  }
  socket.on('data', (chunk) => {
    const bytes = pending === undefined ? chunk : Buffer.concat([pending, chunk])
    const answer = readAnswer(bytes)
    pending = answer === undefined ? bytes : undefined
    if (answer === undefined || current === undefined) return
    onAnswer(current, answer.status, bytes.toString('utf8', answer.bodyStart, answer.end))
    next()
  })
  socket.on('error', onError)
  socket.on('close', () => {
    if (!isClosed) onError(new Error(`${address} closed a connection`))
  })
  return {
    read(written) {
      queue.push(written)
      if (current === undefined) next()
    },
    get waiting() {
      return queue.length
    },
    close() {
      isClosed = true
      socket.destroy()
    },
  }
}

/** Resolves after so many reads were answered. */
export const readWithTokens = async ({ primary, replicas }: ClusterPlace, reads: number): Promise<TokenReads> => {
  const counts = { writes: 0, right: 0, newer: 0, answered: 0 }
  const stale: string[] = []
  const refused = new Map<number, number>()
  let failure: Error | undefined
  const wake: (() => void)[] = []
  const judge = ({ id, version, mark }: Written, status: number, body: string): void => {
    counts.answered += 1
    if (counts.answered % SAY_EVERY === 0)
      console.log(`${counts.answered} reads: ${counts.right} right, ${counts.newer} newer, ${stale.length} stale`)
    const seen = Number(VERSION.exec(body)?.[1])
    if (status !== 200) refused.set(status, (refused.get(status) ?? 0) + 1)
    else if (seen > version) counts.newer += 1
    else if (seen === version && body.includes(mark)) counts.right += 1
    else stale.push(`Patient/${id} was read as ${seen} with the token of ${version}: ${body.slice(0, 200)}`)
    for (const one of wake.splice(0)) one()
  }
  const readers = replicas.flatMap((address) =>
    Array.from({ length: CONNECTIONS }, () =>
      openReader(address, judge, (error) => {
        failure ??= error
        for (const one of wake.splice(0)) one()
      }),
    ),
  )
  const isDone = (): boolean => failure !== undefined || counts.writes * readers.length >= reads
  const isBehind = (): boolean => readers.reduce((sum, { waiting }) => sum + waiting, 0) > MOST_WAITING * readers.length
  const answer = (): Promise<void> => new Promise((resolve) => wake.push(resolve))

  const write = async (own: number): Promise<void> => {
    for (let n = 0; !isDone(); n += 1) {
      while (isBehind() && failure === undefined) await answer()
      const id = `t${own}-${n % IDS}`
      const mark = `"w${own}n${n}"`
      const body = `{"resourceType":"Patient","id":"${id}","name":[{"family":${mark}}]}`
      const targets = [primary, ...replicas]
      const target = targets[n % targets.length] as string
      const made = await fetch(`${target}/Patient/${id}`, { method: 'PUT', headers: HEADERS, body })
      const text = await made.text()
      if (!made.ok) throw new Error(`a change was answered ${made.status}: ${text}`)
      const token = made.headers.get('x-snapshot')
      // An answer that is made while an epoch begins may come without one.
      if (token === null) continue
      counts.writes += 1
      const written = { id, version: Number(VERSION.exec(text)?.[1]), mark, token }
      for (const reader of readers) reader.read(written)
    }
  }
  try {
    await Promise.all(Array.from({ length: WRITERS }, (_, own) => write(own)))
    while (failure === undefined && counts.answered < counts.writes * readers.length) await answer()
    if (failure !== undefined) throw failure
  } finally {
    for (const reader of readers) reader.close()
  }
  return { ...counts, stale, refused }
}
