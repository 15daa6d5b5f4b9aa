import type { Permission, RouteAccess, RouteEntry } from '#api/route-entry'

/** Access to routes: in words, and as OpenAPI security requirements. Contract 1.4, 2. */

/** One of several alternatives: the names of the schemes that a request needs together. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>

export const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The `token` of `GET /iam/token`.',
  },
  dpop: {
    type: 'http',
    scheme: 'DPoP',
    description:
      'The `accessToken` of `POST /auth/login`, bound to the key of the client (RFC 9449). Every request also ' +
      'needs a proof; `Bearer` with such a token is refused.',
  },
  dpopProof: {
    type: 'apiKey',
    in: 'header',
    name: 'DPoP',
    description:
      'A new JWT for each request, signed with ES256: `htm`, `htu`, `iat`, `jti`, the `nonce` of the latest ' +
      '`DPoP-Nonce`, and with a token also its hash as `ath`. Without a valid nonce the answer is 400 ' +
      '`use_dpop_nonce`.',
  },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'A key of `POST /iam/api-keys`.' },
  basic: { type: 'http', scheme: 'basic', description: 'Name and password of a user, only for `GET /iam/token`.' },
  link: {
    type: 'http',
    scheme: 'basic',
    description:
      'For devices: `<tenant>/<deviceIdentifier>:<secret>`, or `<tenant>/*:<provisioningKey>`; `default/` may be left out.',
  },
  hook: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Hook-Signature',
    description:
      '`t=<Unix seconds>,sha256=<hex HMAC of "t.path.body">` with the key `UPDATE_HOOK_SECRET`; at most five minutes old.',
  },
} as const

type Scheme = keyof typeof securitySchemes

const token = [schemes('bearer'), schemes('dpop', 'dpopProof')]
/** For every authenticated caller. */
export const anyCaller: readonly SecurityRequirement[] = [...token, schemes('apiKey')]
const proof = [schemes('dpopProof')]

interface AccessText {
  readonly security: readonly SecurityRequirement[]
  readonly text: string
}

/** For access without a permission. */
const accessTexts: Readonly<Record<Extract<RouteAccess, string>, AccessText>> = {
  none: { security: [], text: 'Needs no authentication.' },
  link: { security: [schemes('link')], text: 'For devices and gateways, by credentials of the device link.' },
  session: { security: anyCaller, text: 'For every authenticated caller, including API keys.' },
  user: { security: token, text: 'For users who signed in; not for API keys.' },
  proof: { security: proof, text: 'For clients with a key pair, which they prove.' },
  'user or proof': {
    security: [...token, ...proof],
    text: 'For users who signed in, and for clients with a key pair.',
  },
  hook: {
    security: [schemes('hook'), ...anyCaller],
    text: 'For the update server, which signs the request, or with `update` on `updates`.',
  },
}

/** For routes with a credential of their own, or with a requirement besides the permission. */
const routeTexts: Readonly<Record<string, AccessText>> = {
  readToken: { security: [schemes('basic')], text: 'For users, by name and password.' },
  readImage: { security: [], text: 'The URL is the credential: it is signed, for one device, and expires.' },
  readBackup: {
    security: anyCaller,
    text: 'Needs every action on every resource, `*` on `*`, on all devices and services, in tenant `default`.',
  },
  readUnsubscribe: { security: [], text: 'The URL is the credential: it is signed, and comes from a mail.' },
  unsubscribeByLink: { security: [], text: 'The URL is the credential: it is signed, and comes from a mail.' },
}

const scopeTexts: Readonly<Record<Permission['within'], string>> = {
  'service of device': `Devices and services outside of the caller's grants are not found (404).`,
  device: `Devices outside of the caller's grants are not found (404).`,
  service: `Services outside of the caller's grants are not found (404).`,
  list: `The list leaves out items outside of the caller's grants.`,
  tenant: '',
}

export function accessOf({ name, access }: RouteEntry): AccessText {
  const routeAccess = routeTexts[name]
  if (routeAccess) return routeAccess
  if (typeof access === 'string') return accessTexts[access]
  const { action, resource, mayCreate } = access
  const right = mayCreate ? `\`${action}\` (\`create\` if it creates something)` : `\`${action}\``
  return {
    security: anyCaller,
    text: [`Needs ${right} on \`${resource}\`.`, scopeTexts[access.within]].join(' ').trim(),
  }
}

/** Whether the route accepts proofs, so that it may require and return a nonce. */
export function acceptsProof(entry: RouteEntry): boolean {
  return accessOf(entry).security.some((requirement) => 'dpopProof' in requirement)
}

function schemes(...names: readonly Scheme[]): SecurityRequirement {
  return Object.fromEntries(names.map((scheme) => [scheme, []]))
}
