/** One half of a pair of keys signs nothing. */
import { S3Keys } from './errors.ts'

export interface S3KeyPair {
  readonly accessKeyId?: string | undefined
  readonly secretAccessKey?: string | undefined
}

/** Throws S3Keys where one of the two is missing. */
export const checkS3Keys = ({ accessKeyId, secretAccessKey }: S3KeyPair): void => {
  if (accessKeyId !== undefined && secretAccessKey === undefined)
    throw S3Keys('SERVER_S3_ACCESS_KEY_ID', 'SERVER_S3_SECRET_ACCESS_KEY')
  if (accessKeyId === undefined && secretAccessKey !== undefined)
    throw S3Keys('SERVER_S3_SECRET_ACCESS_KEY', 'SERVER_S3_ACCESS_KEY_ID')
}
