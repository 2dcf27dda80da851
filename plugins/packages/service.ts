/** The definitions of all installed packages, read from the database, for other plugins. */
import { defineService } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'

/** Where rows are read: the database, or a transaction, which must not wait for rows that are read outside of it. */
export type DefinitionRows = Pick<Database, 'all'>

/** A definition without its text. */
export interface DefinitionName {
  /** `name@version` of the package that holds it. */
  readonly package: string
  readonly id: string
  readonly url?: string
  readonly version?: string
  /** When its package was installed, milliseconds since the epoch. */
  readonly installedAt: number
}

/** One conformance or terminology resource of a package. */
export interface Definition {
  /** `name@version` of the package that holds it. */
  readonly package: string
  /** Resource type, e.g. `StructureDefinition`. */
  readonly type: string
  readonly id: string
  /** Canonical URL; R4 gives none to a NamingSystem. */
  readonly url?: string
  /** Business version. */
  readonly version?: string
  /** The exact text of the file in the package. */
  readonly json: string
}

export interface Definitions {
  /** In the order of installation: dependencies before what depends on them. Empty before the start of this plugin. */
  readonly packages: readonly { readonly name: string; readonly version: string }[]
  /** Changes when the installed set changes: a cache key for what is compiled from the definitions. */
  readonly fingerprint: string
  /**
   * All definitions of a type: one query, not cached. In this order the one that `find` prefers comes last, so a Map
   * filled by `url` gives the same results as `find` without a version. Where several packages hold one URL and
   * version, only that of the package installed last is returned.
   */
  all(type: string): Promise<readonly Definition[]>
  /**
   * The definition with this canonical URL (without `|version`). Without a version, the highest version in one package,
   * and the package that was installed last.
   */
  find(type: string, url: string, version?: string): Promise<Definition | undefined>
  /** Reads the installed set again, e.g. on a replica whose primary has installed a package. True when it changed. */
  refresh(): Promise<boolean>
}

export const Definitions = defineService<Definitions>('packages.definitions')

/** The same definitions by their names, for who shows them without keeping their texts. */
export interface DefinitionNames {
  /** That of `Definitions`. */
  readonly fingerprint: string
  /** Resource types of which there are definitions. */
  types(): Promise<readonly string[]>
  /** The names of all that `Definitions.all` gives, in the same order. `from` defaults to the database. */
  names(type: string, from?: DefinitionRows): Promise<readonly DefinitionName[]>
  /** The texts of some of them, in the order given. Undefined for one whose package was replaced meanwhile. */
  texts(type: string, names: readonly DefinitionName[], from?: DefinitionRows): Promise<readonly (string | undefined)[]>
}

export const DefinitionNames = defineService<DefinitionNames>('packages.names')

/** A step of an installation, to show progress. Sizes in bytes, times in milliseconds. */
export type InstallStep =
  | {
      readonly step: 'download'
      readonly package: string
      readonly from: string
      readonly received: number
      /** Unknown when the source does not say. */
      readonly total?: number
    }
  | { readonly step: 'read'; readonly package: string; readonly files: number }
  | {
      readonly step: 'installed'
      readonly package: string
      readonly from: string
      readonly definitions: number
      readonly duration: number
    }

/** Lets the command line show progress; call `watch` after set-up and before the start. */
export interface InstallProgress {
  /** Calls `listener` at each step until the returned function is called. A listener that throws is removed. */
  watch(listener: (step: InstallStep) => void): () => void
}

export const InstallProgress = defineService<InstallProgress>('packages.progress')
