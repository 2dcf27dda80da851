/** A kernel with only the given plugins, started on a real port of its own. */
import type { AnyPlugin, KernelOptions } from '../../kernel/index.ts'
import { type BareKernel, kernelWith } from './kernel-with.ts'

export interface ListeningKernel extends BareKernel {
  /** `http://127.0.0.1:port` */
  readonly address: string
}

export const listening = async (
  plugins: readonly AnyPlugin[],
  options: Partial<Omit<KernelOptions, 'plugins' | 'log' | 'settings'>> = {},
): Promise<ListeningKernel> => {
  const bare = await kernelWith(plugins, { settings: { server: { bind: '127.0.0.1:0' } }, ...options })
  const address = await bare.kernel.listen()
  await bare.kernel.start()
  return { ...bare, address }
}
