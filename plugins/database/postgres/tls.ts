/**
 * TLS with a PostgreSQL server, on a socket that is already connected: the request for it, the handshake, and the check
 * of the certificate, before the first byte that identifies the client. Spec: Postgres connection and TLS.
 * https://www.postgresql.org/docs/17/protocol-flow.html#PROTOCOL-FLOW-SSL
 */
import type { Socket } from 'node:net'
import { connect, type SecureContext, type TLSSocket } from 'node:tls'
import { isAddress } from './endpoints.ts'
import { NameMismatch, TlsAnswer, TlsDirect, TlsFailed, TlsInjected, TlsMissing } from './errors.ts'
import { printable } from './printable.ts'
import { tlsReason } from './tls-reason.ts'
import type { TlsSettings } from './tls-settings.ts'

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]) // length, 80877103
const ALPN = 'postgresql'

export interface TlsPeer {
  readonly socket: Socket
  /** For messages. */
  readonly where: string
  /** Name or address in the connection string, which the certificate must hold; a name is also sent as SNI. */
  readonly host: string | undefined
  readonly settings: TlsSettings
  readonly context: SecureContext
}

/**
 * Returns the encrypted stream, or the socket itself where the mode is `prefer` and the server has no TLS. Destroy the
 * socket to give up.
 */
export const secure = async (peer: TlsPeer): Promise<Socket | TLSSocket> => {
  if (peer.settings.direct) return handshake(peer)
  const answer = await ask(peer)
  if (answer === 'S') return handshake(peer)
  if (peer.settings.mode === 'prefer') return peer.socket
  throw TlsMissing(peer.where, peer.settings.mode)
}

/** Sends SSLRequest and reads the one byte that answers it. */
const ask = ({ socket, where }: TlsPeer): Promise<'S' | 'N'> =>
  new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      socket.off('readable', read).off('error', fail).off('close', close)
      act()
    }
    const read = (): void => {
      const bytes: Buffer | null = socket.read()
      if (bytes === null) return
      settle(() => {
        const letter = String.fromCharCode(bytes[0]!)
        if (letter === 'S' || letter === 'N')
          // Further bytes in the clear would be taken for a part of the encrypted stream.
          return bytes.length === 1
            ? resolve(letter)
            : reject(TlsInjected(where).with({ detail: { bytes: bytes.length } }))
        // The server is not authenticated yet, so the text of its error is not repeated.
        reject(TlsAnswer(where, letter === 'E' ? 'it sent an error' : `it sent byte 0x${bytes.toString('hex', 0, 1)}`))
      })
    }
    const fail = (error: Error): void => settle(() => reject(TlsAnswer(where, printable(error.message))))
    const close = (): void => settle(() => reject(TlsAnswer(where, 'it closed the connection')))
    // Read with 'readable': a flowing socket would lose bytes that arrive before the next listener is added.
    socket.on('readable', read).on('error', fail).on('close', close)
    socket.write(SSL_REQUEST)
  })

const handshake = (peer: TlsPeer): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const { socket, where, host, settings, context } = peer
    const refuse = (why: string) => (settings.direct ? TlsDirect(where, why) : TlsFailed(where, why))
    const stream = connect({
      socket,
      secureContext: context,
      ALPNProtocols: [ALPN],
      ...(host === undefined || isAddress(host) ? {} : { servername: host }),
      rejectUnauthorized: settings.verifyChain,
      // Node would accept a common name; checkName below does not.
      checkServerIdentity: () => undefined,
    })
    const settle = (act: () => void): void => {
      stream.off('secureConnect', done).off('error', fail).off('close', close)
      act()
    }
    const done = (): void =>
      settle(() => {
        try {
          if (settings.direct && stream.alpnProtocol !== ALPN) throw refuse('it did not answer with ALPN "postgresql"')
          if (settings.verifyChain && !stream.authorized) throw refuse('the certificate chain could not be checked')
          if (settings.verifyName) checkName(stream, where, host ?? '')
          resolve(stream)
        } catch (error) {
          stream.destroy()
          reject(error)
        }
      })
    const fail = (error: NodeJS.ErrnoException): void =>
      settle(() => {
        stream.on('error', () => {}) // later errors of a handshake that already failed
        reject(refuse(tlsReason(error)).with({ detail: { code: error.code } }))
      })
    const close = (): void => settle(() => reject(refuse('it closed the connection')))
    stream.on('secureConnect', done).on('error', fail).on('close', close)
  })

/** Checks subjectAltName only: a common name is not accepted, and an address must be among the addresses. */
const checkName = (stream: TLSSocket, where: string, host: string): void => {
  const certificate = stream.getPeerX509Certificate()
  const valid = isAddress(host)
    ? certificate?.checkIP(host)
    : certificate?.checkHost(host, { subject: 'never', partialWildcards: false })
  if (valid === undefined)
    throw NameMismatch(where, host, certificate?.subjectAltName ? printable(certificate.subjectAltName) : 'no name')
}
