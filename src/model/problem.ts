/**
 * An expected error, as data. Any other error is a bug: it is logged whole, and the answer is a 500 without details.
 *
 * For each code the table gives its HTTP status (contract 1.3), the shape of the body, and whether a retry can help.
 * Link frames carry `link`, the code that devices receive (contract 7).
 */
export interface ProblemKind {
  readonly status: number
  /**
   * The content of the body: empty, `{error}`, `{message}`, `{error:"Validation Error",details}`, or for a bug
   * `{error,message,statusCode}`.
   */
  readonly body: 'empty' | 'error' | 'message' | 'details' | 'server_error'
  readonly text: string
  readonly isTemporary?: boolean
  readonly link?: LinkErrorCode
}

/** Codes of ERROR on the device link. Contract 7. */
export const linkErrorCodes = [
  'BAD_MESSAGE',
  'UNKNOWN_DEVICE',
  'UNKNOWN_SERVICE',
  'UNKNOWN_PROPERTY',
  'BAD_VALUE',
  'NOT_ALLOWED',
  'REPLACED',
  'FLAPPING',
  'OVERLOADED',
  'STORAGE',
] as const
export type LinkErrorCode = (typeof linkErrorCodes)[number]

export const problemKinds = {
  invalid: { status: 400, body: 'details', text: 'Validation Error', link: 'BAD_MESSAGE' },
  bad_request: { status: 400, body: 'error', text: 'Bad Request', link: 'BAD_MESSAGE' },
  bad_request_message: { status: 400, body: 'message', text: 'Bad Request', link: 'BAD_MESSAGE' },
  unauthorized: { status: 401, body: 'error', text: 'Unauthorized', link: 'NOT_ALLOWED' },
  forbidden: { status: 403, body: 'empty', text: 'Forbidden', link: 'NOT_ALLOWED' },
  not_found: { status: 404, body: 'error', text: 'Not Found' },
  not_found_empty: { status: 404, body: 'empty', text: 'Not Found' },
  device_unknown: { status: 404, body: 'error', text: 'Not Found', link: 'UNKNOWN_DEVICE' },
  service_unknown: { status: 404, body: 'error', text: 'Not Found', link: 'UNKNOWN_SERVICE' },
  property_unknown: { status: 404, body: 'error', text: 'Not Found', link: 'UNKNOWN_PROPERTY' },
  value_bad: { status: 400, body: 'details', text: 'Validation Error', link: 'BAD_VALUE' },
  method_not_allowed: { status: 405, body: 'error', text: 'Method Not Allowed' },
  too_slow: { status: 408, body: 'error', text: 'Request Timeout', isTemporary: true },
  conflict: { status: 409, body: 'error', text: 'Conflict' },
  conflict_empty: { status: 409, body: 'empty', text: 'Conflict' },
  device_offline: { status: 409, body: 'error', text: 'DEVICE_OFFLINE', isTemporary: true },
  memory_full: { status: 409, body: 'error', text: 'Conflict', link: 'BAD_VALUE' },
  changed_meanwhile: { status: 412, body: 'error', text: 'Precondition Failed' },
  too_large: { status: 413, body: 'error', text: 'Content Too Large', link: 'BAD_MESSAGE' },
  unsupported_media_type: { status: 415, body: 'error', text: 'Unsupported Media Type' },
  misdirected: {
    status: 421,
    body: 'error',
    text: 'IAM is off: the server only answers requests whose Host is an IP address, a local name, or a host of PUBLIC_URL or CORS_ORIGINS',
  },
  unprocessable: { status: 422, body: 'error', text: 'Unprocessable Content' },
  too_many_requests: { status: 429, body: 'error', text: 'Too Many Requests', isTemporary: true },
  bug: { status: 500, body: 'server_error', text: 'Internal Server Error', isTemporary: true, link: 'OVERLOADED' },
  storage: { status: 503, body: 'error', text: 'STORAGE', isTemporary: true, link: 'STORAGE' },
  overloaded: { status: 503, body: 'error', text: 'OVERLOADED', isTemporary: true, link: 'OVERLOADED' },
  stopping: { status: 503, body: 'error', text: 'STOPPING', isTemporary: true, link: 'OVERLOADED' },
  history_behind: { status: 503, body: 'error', text: 'HISTORY_BEHIND', isTemporary: true },
  history_off: { status: 404, body: 'error', text: 'history is off' },
  device_timeout: { status: 504, body: 'error', text: 'DEVICE_TIMEOUT', isTemporary: true },
} as const satisfies Record<string, ProblemKind>

export type ProblemCode = keyof typeof problemKinds

/** Maximum number of faults that one error lists. A body can have thousands, and more would not help. */
export const detailsMax = 100

/** One place where input does not match its schema: its path (`a.b.0`) and the message. */
export interface ProblemDetail {
  readonly path: string
  readonly message: string
}

/** An error for the caller. Thrown or returned; each protocol translates it to a reply in one place. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly details: readonly ProblemDetail[] | undefined
  readonly headers: Readonly<Record<string, string>> | undefined

  constructor(
    code: ProblemCode,
    message?: string,
    more: { details?: readonly ProblemDetail[]; headers?: Record<string, string> } = {},
  ) {
    super(message ?? problemKinds[code].text)
    this.name = 'Problem'
    this.code = code
    this.details = more.details
    this.headers = more.headers
  }

  get kind(): ProblemKind {
    return problemKinds[this.code]
  }
}
