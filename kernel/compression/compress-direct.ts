/** Compresses a direct answer, by the rules that hold behind the router. */
import type { IncomingMessage } from 'node:http'
import type { DirectAnswer } from '../direct-answer.ts'
import type { AnswerHead, Compression } from './compression.ts'

const headOf = (status: number, headers: string[]): AnswerHead => {
  const at = (name: string): number => headers.indexOf(name)
  return {
    status,
    get: (name) => (at(name) === -1 ? undefined : headers[at(name) + 1]),
    set(name, value) {
      if (at(name) === -1) headers.push(name, value)
      else headers[at(name) + 1] = value
    },
    remove(name) {
      if (at(name) !== -1) headers.splice(at(name), 2)
    },
  }
}

/** The answer to send, now or later; the same object where compression does not concern it. */
export const compressDirect = (
  compression: Compression,
  request: IncomingMessage,
  answer: DirectAnswer,
): DirectAnswer | Promise<DirectAnswer> => {
  const { status, headers: given, body, length } = answer
  const type = given[given.indexOf('content-type') + 1]
  if (!compression.concerns(status, type, body)) return answer
  const headers = [...given]
  const compressed = compression.apply(request.headers, headOf(status, headers), body)
  if (compressed instanceof Promise)
    return compressed.then((bytes) => ({ status, headers, body: bytes, length: bytes.length }))
  return { status, headers, body, length }
}
