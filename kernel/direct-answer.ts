/** An answer as it goes out. */
export interface DirectAnswer {
  readonly status: number
  /** Name, value, name, value: in lower case, each name once, in the order they are sent; without Content-Length. */
  readonly headers: readonly string[]
  /** Left out with a status that has none, such as 304. */
  readonly body?: string | Buffer | undefined
  /** Bytes of the body, where they are known; counted otherwise. */
  readonly length?: number | undefined
}
