/** Orders definitions of one canonical URL: active before draft before others, then by descending version. */
interface Resource {
  readonly status?: unknown
  readonly version?: unknown
}

const ORDER = new Intl.Collator('en', { numeric: true })
const rank = ({ status, version }: Resource): readonly [number, string] => [
  status === 'active' ? 2 : status === 'draft' ? 1 : 0,
  typeof version === 'string' ? version : '',
]

export const compareDefinitions = (one: Resource, other: Resource): number => {
  const [[status, version], [otherStatus, otherVersion]] = [rank(one), rank(other)]
  return otherStatus - status || ORDER.compare(otherVersion, version)
}
