export interface StartedProcess {
  readonly argv: readonly string[]
  readonly execArgv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: string
  readonly versions: { readonly node: string }
  readonly execve?: unknown
  readonly connected?: boolean
}

export interface SecondStart {
  /** Arguments of Node, the entry and its arguments. */
  readonly args: string[]
  readonly environment: Record<string, string | undefined>
}

export declare const memoryArguments: (process: StartedProcess) => SecondStart | undefined
