/** What an export was asked for, as the job keeps it: all that its files depend on, beside the ruling and the time. */
export interface ExportSpec {
  readonly level: 'system' | 'patient' | 'group'
  /** URL of the kick-off, for the manifest. */
  readonly request: string
  /** Base of links. */
  readonly baseUrl: string
  /** Id of the Group. */
  readonly group?: string | undefined
  /** Ids of the patients that were named. */
  readonly patients?: readonly string[] | undefined
  /** In the order in which they are exported. */
  readonly types: readonly string[]
  /** Queries by type: a resource is exported when it matches one of those of its type. */
  readonly filters: Readonly<Record<string, readonly string[]>>
  readonly elements?: readonly string[] | undefined
  /** Version time, microseconds since the epoch: only what was changed after it. */
  readonly since?: number | undefined
  /** What was ignored because of `Prefer: handling=lenient`, in sentences. */
  readonly notes: readonly string[]
}
