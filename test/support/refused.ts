/** Checks what all refusals have in common: a 4xx, an OperationOutcome with one precise issue, and no internals. */
import * as assert from 'uvu/assert'
import type { TestServer } from './server-with.ts'

export interface Answer {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** Traces of code, SQL and files, which no answer may show. */
const INSIDE =
  /\bat \S+ \(|node_modules|node:internal|\.ts:\d|\.js:\d|SQLITE|SELECT |INSERT |UPDATE \w+ SET|SyntaxError|TypeError|RangeError|\/tmp\/|\/home\//

export interface Expected {
  readonly status: number | readonly number[]
  /** OperationOutcome.issue.code */
  readonly code: string | readonly string[]
}

/** Checks a refusal and returns its diagnostics; `about` names the case in failure messages. */
export const assertRefused = (
  { statusCode, headers, body }: Answer,
  { status, code }: Expected,
  about: string,
): string => {
  const shown = `${about}: ${statusCode} ${body.slice(0, 300)}`
  assert.ok([status].flat().includes(statusCode), shown)
  assert.is(headers['content-type'], 'application/fhir+json; charset=utf-8', shown)
  assert.not.match(body, INSIDE, shown)
  const { resourceType, issue } = JSON.parse(body) as {
    resourceType: string
    issue: { severity: string; code: string; diagnostics: string }[]
  }
  assert.is(resourceType, 'OperationOutcome', shown)
  assert.is(issue.length, 1, shown)
  const [{ severity, code: found, diagnostics }] = issue as [(typeof issue)[number]]
  assert.is(severity, 'error', shown)
  assert.ok([code].flat().includes(found), shown)
  assert.ok(diagnostics.length > 10 && diagnostics.length < 1_000, shown)
  return diagnostics
}

/** Checks that a valid request succeeds, and that no earlier one caused a server error. */
export const assertServes = async (server: TestServer, about: string): Promise<void> => {
  const headers = { 'content-type': 'application/fhir+json' }
  const payload = '{"resourceType":"Patient","active":true}'
  const created = await server.inject({ method: 'POST', url: '/Patient', headers, payload })
  assert.is(created.statusCode, 201, `after ${about}: ${created.body}`)
  const { id } = created.json() as { id: string }
  const read = await server.inject(`/Patient/${id}`)
  assert.is(read.statusCode, 200, `after ${about}`)
  assert.is(read.body, created.body, `after ${about}`)
  const errors = server.lines.filter(({ level }) => level === 'error' || level === 'fatal')
  assert.equal(errors, [], `after ${about}`)
}
