/** Parses the ClientHello, the first message of a TLS client. https://www.rfc-editor.org/rfc/rfc8446#section-4.1.2 */

export interface ClientHello {
  /** SNI. */
  readonly serverName: string | undefined
  /** ALPN, in the client's order. */
  readonly protocols: readonly string[]
  /** supported_versions, e.g. 0x0304 for TLS 1.3. */
  readonly versions: readonly number[]
}

/** `record` is the first TLS record, complete. Throws when it is not a ClientHello. */
export const readClientHello = (record: Buffer): ClientHello => {
  if (record[0] !== 0x16 || record[5] !== 0x01) throw new Error('not a ClientHello')
  let at = 5 + 4 + 2 + 32 // record header, handshake header, version, random
  at += 1 + record.readUInt8(at) // session id
  at += 2 + record.readUInt16BE(at) // cipher suites
  at += 1 + record.readUInt8(at) // compression
  const end = at + 2 + record.readUInt16BE(at)
  const extensions = new Map<number, Buffer>()
  for (at += 2; at < end; ) {
    const length = record.readUInt16BE(at + 2)
    extensions.set(record.readUInt16BE(at), record.subarray(at + 4, at + 4 + length))
    at += 4 + length
  }
  const protocols: string[] = []
  const alpn = extensions.get(16)
  for (let from = 2; alpn !== undefined && from < alpn.length; from += 1 + alpn[from]!)
    protocols.push(alpn.toString('latin1', from + 1, from + 1 + alpn[from]!))
  const versions: number[] = []
  const offered = extensions.get(43)
  for (let from = 1; offered !== undefined && from < offered.length; from += 2)
    versions.push(offered.readUInt16BE(from))
  return { serverName: extensions.get(0)?.toString('latin1', 5), protocols, versions }
}
