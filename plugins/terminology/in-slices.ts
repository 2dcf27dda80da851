/** Work on large definitions in parts, so that other requests are answered in between. */
import { JSONParser } from '@streamparser/json'
import { createPause } from '../../kernel/index.ts'

type Json = Readonly<Record<string, unknown>>

/** Below that, parsing takes a few milliseconds. */
const LARGE = 256 * 1024 // characters
const CHUNK = 32 * 1024 // bytes that are parsed without a pause

/** Work with a `yield` wherever it may pause. */
export type Steps<T> = Generator<undefined, T, void>

export const atOnce = <T>(steps: Steps<T>): T => {
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

export const inSlices = async <T>(steps: Steps<T>): Promise<T> => {
  const pause = createPause()
  let step = steps.next()
  while (step.done !== true) {
    await pause()
    step = steps.next()
  }
  return step.value
}

/** The same as JSON.parse of a stored resource, whose text is valid. */
export const parseInSlices = async (text: string): Promise<Json> => {
  if (text.length < LARGE) return JSON.parse(text) as Json
  const pause = createPause()
  const bytes = Buffer.from(text)
  const parser = new JSONParser({ paths: ['$'] })
  let parsed: unknown
  parser.onValue = ({ value }) => {
    parsed = value
  }
  for (let at = 0; at < bytes.length; at += CHUNK) {
    parser.write(bytes.subarray(at, at + CHUNK))
    await pause()
  }
  return parsed as Json
}
