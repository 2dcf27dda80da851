/** Loads what a kernel is made of when one is made: threads load the kernel's index for errors and types, and make none. */
import type { Kernel } from './kernel.ts'
import type { KernelOptions } from './kernel-options.ts'

export const createKernel = async (options: KernelOptions): Promise<Kernel> =>
  (await import('./kernel.ts')).createKernel(options)
