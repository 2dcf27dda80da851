/**
 * Keeps `process.nextTick` fast. Requests make several ticks each, and V8 removes the shape (map) of which a full collection finds
 * no object: it rarely finds a tick. After some collections each tick is then made by the runtime, property by property.
 */
import { executionAsyncResource } from 'node:async_hooks'

/** Exported so that it is referenced for as long as the process runs. */
export const keptTicks: object[] = []

/** Keeps one tick, which has the shape of all others. */
export const keepTickShape = (): void => process.nextTick(() => void keptTicks.push(executionAsyncResource()))
