/** The effective settings with where each came from, for `server config`; and the values that logs must not show. */
import type { Setting, SettingSchema } from './annotation.ts'
import { schemaOfKey } from './check.ts'
import { isTable, type Layered, type Origin } from './layer.ts'
import { MASK, passwordsIn, withoutPasswords } from './secrets.ts'

export interface Reported {
  /** `smart.oidc.client_id`; a map has one line for each of its values. */
  readonly path: string
  /** `smart.oidc` */
  readonly section: string
  /** `['client_id']`; in a map `['clients', 'my app', 'burst']`. */
  readonly words: readonly string[]
  /** `undefined` for an optional setting that is not set. Masked when secret, and without the password of a URL. */
  readonly value: unknown
  readonly origin: Origin
  readonly secret: boolean
}

interface Leaf {
  readonly section: string
  readonly words: readonly string[]
  readonly secret: boolean
  readonly value: unknown
  /** True when it was written somewhere; false for a default. */
  readonly given: boolean
}

const own = (value: unknown, key: string): unknown =>
  isTable(value) && Object.hasOwn(value, key) ? value[key] : undefined

/** The single values inside a decoded value, each with the value that was written for it. */
const leavesOf = (
  section: string,
  words: readonly string[],
  schema: SettingSchema,
  value: unknown,
  given: unknown,
): readonly Leaf[] => {
  const entries = isTable(value) ? Object.entries(value) : []
  if (entries.length === 0 || schema.secret === true)
    return [{ section, words, secret: schema.secret === true, value, given: given !== undefined }]
  return entries.flatMap(([key, item]) =>
    leavesOf(section, [...words, key], schemaOfKey(schema, key) ?? {}, item, own(given, key)),
  )
}

const textsOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

/** A list shows how many secrets it has: none of an empty one. */
const masked = (value: unknown): unknown => (Array.isArray(value) ? value.map(() => MASK) : MASK)

export interface Report {
  report(): readonly Reported[]
  secrets(): readonly string[]
}

/** `decoded` gives the checked value of a setting. */
export const createReport = (
  settings: readonly Setting[],
  decoded: (setting: Setting) => unknown,
  layered: Layered,
): Report => {
  const leaves = (): readonly Leaf[] =>
    settings.flatMap((setting) => {
      const given = setting.path.split('.').reduce(own, layered.values)
      return leavesOf(setting.section, [setting.key], setting.schema, decoded(setting), given)
    })
  return {
    report: () =>
      leaves().map(({ section, words, secret, value, given }) => {
        const path = [section, ...words].join('.')
        return {
          path,
          section,
          words,
          value: value === undefined ? undefined : secret ? masked(value) : withoutPasswords(value),
          origin: given ? layered.origin(path) : { source: 'default' },
          secret,
        }
      }),
    secrets: () => {
      const found = leaves().flatMap(({ secret, value }) => [...passwordsIn(value), ...(secret ? textsOf(value) : [])])
      return [...new Set(found)]
    },
  }
}
