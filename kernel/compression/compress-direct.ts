/** Compresses a direct answer, by the rules that hold behind the router. */
import type { IncomingMessage } from 'node:http'
import type { DirectAnswer } from '../direct-answer.ts'
import type { AnswerHead, Compression } from './compression.ts'

/** The head of a direct answer, whose list of headers is copied when the first one changes. */
class ListedHead implements AnswerHead {
  readonly status: number
  headers: readonly string[]
  #own: string[] | undefined

  constructor(status: number, headers: readonly string[]) {
    this.status = status
    this.headers = headers
  }

  get(name: string): string | undefined {
    const at = this.headers.indexOf(name)
    return at === -1 ? undefined : this.headers[at + 1]
  }

  set(name: string, value: string): void {
    const own = this.#change()
    const at = own.indexOf(name)
    if (at === -1) own.push(name, value)
    else own[at + 1] = value
  }

  remove(name: string): void {
    const own = this.#change()
    const at = own.indexOf(name)
    if (at !== -1) own.splice(at, 2)
  }

  #change(): string[] {
    this.#own ??= [...this.headers]
    this.headers = this.#own
    return this.#own
  }
}

/** The answer to send, now or later; the same object where compression does not concern it. */
export const compressDirect = (
  compression: Compression,
  request: IncomingMessage,
  answer: DirectAnswer,
): DirectAnswer | Promise<DirectAnswer> => {
  const { status, body, length } = answer
  const head = new ListedHead(status, answer.headers)
  if (!compression.concerns(status, head.get('content-type'), body)) return answer
  const compressed = compression.apply(request.headers, head, body)
  const { headers } = head
  if (compressed instanceof Promise)
    return compressed.then((bytes) => ({ status, headers, body: bytes, length: bytes.length }))
  return { status, headers, body, length }
}
