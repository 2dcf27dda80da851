/** The request of an import, as the job stores it. */
export interface ImportSpec {
  /** URL of the kick-off. */
  readonly request: string
  /** Base of links. */
  readonly baseUrl: string
  /** In the order in which they are read. */
  readonly inputs: readonly { readonly type: string; readonly url: string }[]
  /** Most resources in one transaction. */
  readonly batch: number
}

/** Id of a file among all sources. `at`: its index among the inputs. */
export const sourceIdOf = (job: string, at: number): string => `${job}-${at}`
