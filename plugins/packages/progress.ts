/** Reports the steps of an installation to listeners. A listener that throws is removed. */
import type { InstallProgress, InstallStep } from './service.ts'

export interface ProgressBoard extends InstallProgress {
  report(step: InstallStep): void
}

export const createProgress = (): ProgressBoard => {
  const listeners = new Set<(step: InstallStep) => void>()
  return {
    watch(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    report(step) {
      for (const listener of listeners) {
        try {
          listener(step)
        } catch {
          listeners.delete(listener)
        }
      }
    },
  }
}
