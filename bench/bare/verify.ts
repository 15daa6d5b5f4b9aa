import { App } from 'uWebSockets.js'
import { createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'
import { serveFunctions } from '#bench/harness/remote-functions'

/**
 * The minimum cost of a request with a DPoP proof: verifies the signature only. It caches imported keys by the header
 * that contains them.
 */
const answer = JSON.stringify({
  name: 'user0',
  tenant: 'default',
  roles: ['admin'],
  grants: [{ permissions: { '*': ['create', 'read', 'update', 'delete'] }, devices: ['*'], services: ['*'] }],
})

const keys = new Map<string, KeyObject>()

function keyOf(header: string): KeyObject {
  const known = keys.get(header)
  if (known) return known
  const { jwk } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { jwk: JsonWebKey }
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  keys.set(header, key)
  return key
}

function isSigned(proof: string): boolean {
  const end = proof.lastIndexOf('.')
  const key = keyOf(proof.slice(0, proof.indexOf('.')))
  const signature = Buffer.from(proof.slice(end + 1), 'base64url')
  return verify('sha256', Buffer.from(proof.slice(0, end)), { key, dsaEncoding: 'ieee-p1363' }, signature)
}

const app = App().get('/api/v1/iam/me', (response, request) => {
  if (!isSigned(request.getHeader('dpop'))) response.writeStatus('401 Unauthorized')
  response.writeHeader('Content-Type', 'application/json')
  response.end(answer)
})

serveFunctions({
  listen: ({ port }: { port: number }) =>
    new Promise((resolve, reject) => {
      app.listen('127.0.0.1', port, (socket) => (socket ? resolve(process.pid) : reject(new Error('not listening'))))
    }),
})
