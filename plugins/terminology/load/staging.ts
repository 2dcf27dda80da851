/** A temporary database for a release: its tables come in files of their own, in no common order, and are put together by concept. */
import { openTemporaryDatabase, type TemporaryDatabase } from '../../database/service.ts'

export type Staging = TemporaryDatabase

export const openStaging = openTemporaryDatabase
