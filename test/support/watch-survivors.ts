/**
 * Watches what outlives the collections of the young generation. What does is copied twice, and then takes memory and time until
 * the whole heap is collected, so that what a request allocates should not.
 */
import { Session } from 'node:inspector/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const SAMPLE_BYTES = 1_024

interface SampledNode {
  readonly callFrame: { readonly functionName: string }
  readonly selfSize: number
  readonly children: readonly SampledNode[]
}

const bytesIn = (node: SampledNode, name: string | undefined): number =>
  (name === undefined || node.callFrame.functionName === name ? node.selfSize : 0) +
  node.children.reduce((sum, child) => sum + bytesIn(child, name), 0)

/**
 * The function that it returns ends the watch, and says how many bytes the functions of a name have allocated that survived; without
 * a name those of all functions.
 */
export const watchSurvivors = async (): Promise<() => Promise<(name?: string) => number>> => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: { readonly type: 'minor' }) => void
  const session = new Session()
  session.connect()
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: SAMPLE_BYTES,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: false,
  })
  return async () => {
    // The first collection copies objects that are still in use; the second one removes those that no longer are.
    for (let turn = 0; turn < 2; turn += 1) {
      collect({ type: 'minor' })
      await new Promise(setImmediate)
    }
    const { profile } = await session.post('HeapProfiler.stopSampling')
    session.disconnect()
    return (name) => bytesIn(profile.head, name)
  }
}
