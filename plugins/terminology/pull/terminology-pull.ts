/** A pull from other terminology servers, as commands and other plugins call it. */
export interface PullReport {
  /** An interrupted pull goes on behind so many resources. `label`: the type and its source. */
  resumed?(label: string, seen: number): void
  step?(step: { readonly label: string; readonly done: number; readonly total: number }): void
  /** A source, a type of it, or a malformed definition, of which the last pull stays in use. Of a type, the first 20 definitions. */
  failed?(error: Error): void
}

export interface PullSummary {
  /** Definitions that were put into use. */
  readonly resources: number
  /** How often a source, a type of it, or a malformed definition was not pulled. */
  readonly failed: number
}

export interface TerminologyPull {
  /** The next start pulls nothing by itself, because `run` is called. */
  defer(): void
  /**
   * Pulls what was changed since the last complete pull, with `isAll` everything. Rejects only where the server
   * stops. Pulls run one after the other.
   */
  run(options: { readonly isAll: boolean }, report?: PullReport): Promise<PullSummary>
}
