/** Tests that a large resource that is stored does not hold up others: it is read, shown, labelled and hidden in short turns of the main thread. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type LargeBody, largeBodies } from '../../bodies/large-bodies.ts'
import { assertShort, JSON_HEADERS, SIZES, type TurnsServer } from './turns-server.ts'

const limited = (id: string, [put, again, patch]: readonly LargeBody[]): readonly LargeBody[] => {
  const isOther = {
    name: 'PUT of another type',
    method: 'PUT',
    path: `/Bundle/${id}`,
    headers: JSON_HEADERS,
    status: [403],
  }
  const other = JSON.stringify({ resourceType: 'Bundle', id, type: 'searchset' })
  const broken = `{"resourceType":"Bundle","id":"${id}","type":"searchset","entry":[${'{},'.repeat(100_000)}{}]}`
  return [
    put as LargeBody,
    again as LargeBody,
    patch as LargeBody,
    { ...isOther, body: Buffer.from(other) } as LargeBody,
    { ...isOther, body: Buffer.from(broken), status: [400, 403, 422] } as LargeBody,
    { name: 'DELETE', method: 'DELETE', path: `/Bundle/${id}`, body: Buffer.alloc(0), status: [204] },
  ]
}

/** Adds the tests. After the last of them the server answers callers with limited access only. */
export const testTurnsOfReads = (server: () => TurnsServer): void => {
  test('the large resource that is read is stored', async () => {
    const { status } = await server().send(largeBodies(SIZES, 'read')[0] as LargeBody)
    assert.is(status, 201)
  })

  for (const [what, query, accept] of [
    ['as it is stored', '', 'gzip'],
    ['unpacked', '', 'identity'],
    ['in summary', '?_summary=true', 'gzip'],
    ['in part', '?_elements=type,entry', 'gzip'],
    ['in a search', '', 'search'],
    ['in its history', '/_history?_count=1', 'gzip'],
  ] as const)
    test(`a large resource is read ${what} in short turns`, async () => {
      await server().turns()
      const url =
        accept === 'search' ? `${server().base}/Bundle?_id=read&_elements=type` : `${server().base}/Bundle/read${query}`
      const answer = await fetch(url, { headers: accept === 'search' ? {} : { 'accept-encoding': accept } })
      assert.is(answer.status, 200)
      assert.ok((await answer.arrayBuffer()).byteLength > 100)
      const { most } = await server().turns()
      assertShort(most)
    })

  test('a large resource is given and taken as XML in short turns', async () => {
    const type = 'application/fhir+xml'
    await server().turns()
    const answer = await fetch(`${server().base}/Bundle/read`, { headers: { accept: type } })
    const body = Buffer.from(await answer.arrayBuffer())
    assert.match(String(answer.headers.get('content-type')), type)
    assert.ok(body.length > SIZES.bytes, String(body.length))
    assertShort((await server().turns()).most, 'the answer')
    const { status, text } = await server().send({
      method: 'PUT',
      path: '/Bundle/read',
      headers: { 'content-type': type },
      body,
    })
    assert.is(status, 200, text)
    assertShort((await server().turns()).most, 'the body')
  })

  test('labels of a large resource are read, added and taken away in short turns', async () => {
    const labels = [{ name: 'meta', valueMeta: { tag: [{ system: 'http://tags.example', code: 'large' }] } }]
    const given = Buffer.from(JSON.stringify({ resourceType: 'Parameters', parameter: labels }))
    const label = async (operation: string): Promise<string> => {
      await server().turns()
      const body = operation === '$meta' ? Buffer.alloc(0) : given
      const method = operation === '$meta' ? 'GET' : 'POST'
      const { status, text } = await server().send({
        method,
        path: `/Bundle/read/${operation}`,
        headers: JSON_HEADERS,
        body,
      })
      assert.is(status, 200, text)
      const { most } = await server().turns()
      assertShort(most, operation)
      return text
    }
    assert.match(await label('$meta-add'), /"large"/)
    assert.match(await label('$meta'), /"large"/)
    assert.not.match(await label('$meta-delete'), /"large"/)
  })

  test('for a caller with limited access the same turns are short', async () => {
    const stored = largeBodies(SIZES, 'limited')
    assert.is((await server().send(stored[0] as LargeBody)).status, 201)
    await fetch(`${server().base}/limit`)
    assert.is((await fetch(`${server().base}/Patient/probe`)).status, 403)
    for (const one of limited('limited', stored)) {
      await server().turns()
      const { status, text } = await server().send(one)
      assert.ok(one.status.includes(status), `${one.name}: ${status} ${text.slice(0, 300)}`)
      const { most } = await server().turns()
      assertShort(most, one.name)
      if (one.method === 'DELETE') continue
      assert.is((await fetch(`${server().base}/Bundle/limited`)).status, 200)
      const { most: ofRead } = await server().turns()
      assertShort(ofRead, `a read after ${one.name}`)
    }
  })
}
