/** A kernel with only the given plugins, not started, whose log lines are collected. */
import { type AnyPlugin, createKernel, definePlugin, type Kernel, type KernelOptions } from '../../kernel/index.ts'

export interface BareKernel {
  readonly kernel: Kernel
  /** Lines the kernel logged, parsed. */
  readonly lines: readonly Record<string, any>[]
  /** The same lines as text. */
  readonly raw: readonly string[]
}

export const kernelWith = async (
  plugins: readonly AnyPlugin[],
  options: Partial<Omit<KernelOptions, 'plugins' | 'log'>> = {},
): Promise<BareKernel> => {
  const lines: Record<string, any>[] = []
  const raw: string[] = []
  const write = (line: string): void => {
    raw.push(line)
    lines.push(JSON.parse(line))
  }
  const kernel = await createKernel({ plugins, ...options, log: { stream: { write }, level: 'debug' } })
  return { kernel, lines, raw }
}

/** A plugin with only a setup. */
export const pluginOf = (name: string, setup: AnyPlugin['setup']): AnyPlugin => definePlugin({ name, setup })
