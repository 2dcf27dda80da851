/** Ten thousand codes: 256 random bits each, none twice, in no order, and only their hashes are stored. A20 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { SqlParam, Transaction } from '../../../plugins/database/service.ts'
import { issueCode } from '../../../plugins/smart/grants/issue-code.ts'
import { hashOf } from '../../../plugins/smart/secret.ts'

const COUNT = 10_000
const BITS = 256
/** Six standard deviations of a binomial distribution with p = 1/2: one run of 500 million is further off. */
const tolerance = (count: number): number => 6 * Math.sqrt(count / 4)

interface Issued {
  readonly code: string
  readonly stored: readonly SqlParam[]
}

const issueMany = async (): Promise<readonly Issued[]> => {
  const all: Issued[] = []
  let stored: SqlParam[] = []
  const transaction = {
    run: (_statement: unknown, params: readonly SqlParam[]) => void stored.push(...params),
  } as unknown as Transaction
  const pending = {
    ...{ client: 'app', chosen: {} },
    params: { redirectUri: 'https://app.example.org/', challenge: 'c', scope: 'openid' },
  } as unknown as Parameters<typeof issueCode>[1]['pending']
  const session = {
    ...{ idHash: Buffer.alloc(32), name: '', expiresAt: 1, secret: '' },
    person: { subject: 's', isDemo: true, authTime: 0 },
  }
  for (let n = 0; n < COUNT; n += 1) {
    stored = []
    const code = await issueCode(transaction, { pending, session, scope: 'openid', now: 0 })
    all.push({ code, stored })
  }
  return all
}

test('codes are of one length, all different, in no order, and each bit is as often set as not', async () => {
  const issued = await issueMany()
  const codes = issued.map(({ code }) => code)
  assert.is(new Set(codes).size, COUNT)
  for (const code of codes) assert.match(code, /^[A-Za-z0-9_-]{43}$/)
  // Of a pair that follow each other, the first is the smaller one in half of the cases.
  const rising = codes.filter((code, n) => n > 0 && (codes[n - 1] as string) < code).length
  assert.ok(Math.abs(rising - (COUNT - 1) / 2) < tolerance(COUNT), `${rising} of ${COUNT - 1} are rising`)
  const set = new Uint32Array(BITS)
  for (const code of codes) {
    const bytes = Buffer.from(code, 'base64url')
    for (let bit = 0; bit < BITS; bit += 1) set[bit] = (set[bit] ?? 0) + (((bytes[bit >> 3] ?? 0) >> (bit & 7)) & 1)
  }
  for (const [bit, count] of set.entries())
    assert.ok(Math.abs(count - COUNT / 2) < tolerance(COUNT), `bit ${bit} is set in ${count} of ${COUNT}`)
  for (const { code, stored } of issued) {
    assert.ok(stored.some((one) => one instanceof Uint8Array && hashOf(code).equals(one)))
    assert.not.ok(stored.includes(code))
  }
})

test.run()
