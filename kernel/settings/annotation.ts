/**
 * Annotations of a setting's schema: names, description, secrecy. All docs and flags of settings are generated from
 * them.
 */
import type { TObject, TSchema } from 'typebox'
import { FlagTwice, SettingTwice } from './errors.ts'

/** One section of server.toml as one plugin declares it. Several plugins may add keys to a section. */
export interface OwnedSection {
  readonly plugin: string
  /** Dotted: `audit`, `smart.oidc`, `plugin.acme`. */
  readonly path: string
  readonly schema: TObject
}

/** Written as options of the TypeBox type: `Type.Integer({ default: 8, env: 'SERVER_DB_POOL', … })`. */
export interface Annotation {
  readonly default?: unknown
  /** One sentence; printed in the sample file, in `--help` and in cli/README.md. */
  readonly description?: string
  /** The environment variable, or several of which the first one that is set counts. */
  readonly env?: string | readonly string[]
  /** The command-line flag without its dashes. */
  readonly flag?: string
  /** What giving `flag` also sets: `--sqlite path` → `{ 'database.kind': 'sqlite' }`. */
  readonly flagSets?: Readonly<Record<string, unknown>>
  /**
   * Values that this setting, wherever it is written, gives to other settings that are not set: `{ 'database.kind':
   * 'postgres' }`.
   */
  readonly implies?: Readonly<Record<string, unknown>>
  /** Flags without a value that set this key: `--memory` → `{ memory: 'memory' }` on `database.kind`. */
  readonly flagValues?: Readonly<Record<string, unknown>>
  /** Never printed nor logged. */
  readonly secret?: boolean
  /** Refused in the file: environment (or flag, or host) only. */
  readonly fileForbidden?: boolean
  /** Value shown in the sample file and in `--help` when there is no default. */
  readonly sample?: unknown
  /** Replaces the generated words on what is allowed: `host:port`. */
  readonly allowed?: string
}

/** JSON Schema as TypeBox writes it; only what settings are made of. */
export interface SettingSchema extends Annotation {
  readonly type?: string
  readonly properties?: Readonly<Record<string, SettingSchema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, SettingSchema>>
  readonly items?: SettingSchema
  readonly anyOf?: readonly SettingSchema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly format?: string
  readonly pattern?: string | RegExp
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
  readonly minItems?: number
  readonly maxItems?: number
  /** On the object of a section: defaults that hold as soon as the section is written, e.g. `{ enabled: true }`. */
  readonly whenPresent?: Readonly<Record<string, unknown>>
}

export const annotated = (schema: TSchema): SettingSchema => schema as SettingSchema

/** One key of a section, with its one owner. */
export interface Setting {
  readonly plugin: string
  /** `smart.oidc` */
  readonly section: string
  /** `client_id` */
  readonly key: string
  /** `smart.oidc.client_id` */
  readonly path: string
  readonly schema: SettingSchema
  /** Neither optional nor with a default. */
  readonly required: boolean
}

/**
 * Every key once, in the order of declaration. Throws `SettingTwice` for a key, and `FlagTwice` for a flag, with two
 * owners.
 */
export const settingsOf = (sections: readonly OwnedSection[]): readonly Setting[] => {
  const settings = new Map<string, Setting>()
  const flags = new Map<string, Setting>()
  const paths = new Map(sections.map((section) => [section.path, section.plugin]))
  for (const { plugin, path: section, schema } of sections) {
    const { properties = {}, required = [] } = annotated(schema)
    for (const [key, own] of Object.entries(properties)) {
      const path = `${section}.${key}`
      const other = settings.get(path)?.plugin ?? paths.get(path)
      if (other !== undefined) throw SettingTwice(other, plugin, path)
      const setting = {
        plugin,
        section,
        key,
        path,
        schema: own,
        required: required.includes(key) && own.default === undefined,
      }
      settings.set(path, setting)
      for (const flag of commandLineFlagsOf(own)) {
        const taken = flags.get(flag)
        if (taken !== undefined) throw FlagTwice(taken.plugin, plugin, flag, taken.path, path)
        flags.set(flag, setting)
      }
    }
  }
  return [...settings.values()]
}

/** Names of all flags that a setting answers to, without dashes. */
export const commandLineFlagsOf = (schema: SettingSchema): readonly string[] => [
  ...(schema.flag === undefined ? [] : [schema.flag]),
  ...Object.keys(schema.flagValues ?? {}),
]

/** Names of all environment variables that a setting answers to, the first that is set counts. */
export const variablesOf = (schema: SettingSchema): readonly string[] =>
  schema.env === undefined ? [] : typeof schema.env === 'string' ? [schema.env] : schema.env

/**
 * `db_pool under [cluster]`, `SERVER_DB_POOL`, `--db-pool`: the places where an operator can set it, for error
 * messages.
 */
export const waysToSet = ({ schema, key, section }: Setting): readonly string[] => [
  ...(schema.fileForbidden === true ? [] : [`${key} under [${section}]`]),
  ...variablesOf(schema).slice(0, 1),
  ...(schema.flag === undefined ? [] : [`--${schema.flag}`]),
]
