/** Page tokens of usage, for the link to the next page: the key of a page's last row. */
import { AdminParameter } from '../../kernel/index.ts'

/** Day, client, class. */
export type UsageKey = readonly [string, string, string]

const FIRST: UsageKey = ['', '', '']

export const pageTokenOf = (key: UsageKey): string => Buffer.from(JSON.stringify(key)).toString('base64url')

/** The key after which the page begins. Throws 400 for a malformed token. */
export const readPageToken = (token: string | undefined): UsageKey => {
  if (token === undefined) return FIRST
  try {
    const key: unknown = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'))
    if (Array.isArray(key) && key.length === 3 && key.every((part) => typeof part === 'string' && !part.includes('\0')))
      return key as unknown as UsageKey
  } catch {
    // Thrown below.
  }
  throw AdminParameter('_page', 'what the link to the next page holds')
}
