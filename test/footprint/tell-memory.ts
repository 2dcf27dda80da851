/** Loaded into the server that is measured (`--import`): at SIGUSR2 it writes figures of its memory to a file. */
import { renameSync, writeFileSync } from 'node:fs'
import { getHeapSpaceStatistics } from 'node:v8'

export interface ToldMemory {
  readonly heapTotal: number
  readonly heapUsed: number
  readonly external: number
  readonly arrayBuffers: number
  /** Of heapTotal: what the young generation has reserved. */
  readonly young: number
}

process.on('SIGUSR2', () => {
  const { heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage()
  const young = getHeapSpaceStatistics().find((one) => one.space_name === 'new_space')?.space_size ?? 0
  const told: ToldMemory = { heapTotal, heapUsed, external, arrayBuffers, young }
  const path = process.env.MEMORY_FILE as string
  writeFileSync(`${path}.part`, JSON.stringify(told))
  renameSync(`${path}.part`, path)
})
