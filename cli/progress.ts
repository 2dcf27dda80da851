/** Shows progress on a terminal: one line that is overwritten while packages are downloaded and read. */

import type { Output } from '../kernel/command.ts'
import { type Clock, counted, type Kernel, systemClock } from '../kernel/index.ts'
import { InstallProgress, type InstallStep } from '../plugins/packages/service.ts'

/** Moves to the start of the line and clears it, so that the next text replaces the progress line. */
export const CLEAR_LINE = '\r\u001B[K'

const LINE_MS = 80 // milliseconds between two updates, so that a slow terminal can keep up

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1)

/** The last segment of a path to a folder or archive: the whole path is wider than a terminal. */
const named = (label: string): string => label.split('/').at(-1) ?? label

const describe = (step: InstallStep): string => {
  if (step.step === 'download') {
    const of = step.total === undefined ? '' : ` of ${megabytes(step.total)}`
    return `Downloading ${named(step.package)}: ${megabytes(step.received)}${of} MB`
  }
  if (step.step === 'read') return `Installing ${named(step.package)}: ${counted(step.files, 'definition')}`
  return ''
}

/** Shows what is being installed until the returned function is called. Does nothing without the plugin packages. */
export const showProgress = (kernel: Kernel, stdout: Output, clock: Clock = systemClock): (() => void) => {
  let progress: InstallProgress
  try {
    progress = kernel.get(InstallProgress)
  } catch {
    return () => undefined
  }
  let next = 0
  const forget = progress.watch((step) => {
    const now = clock.monotonic()
    if (now < next && step.step !== 'installed') return
    next = now + LINE_MS
    stdout.write(`${CLEAR_LINE}${describe(step)}`)
  })
  return () => {
    forget()
    stdout.write(CLEAR_LINE)
  }
}
