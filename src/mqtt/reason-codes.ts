import type { Problem } from '#model/problem'

/** Reason codes of MQTT 5 that this server sends or reads. MQTT 5.0 §2.4. */
export const reasons = {
  success: 0x00,
  disconnectWithWill: 0x04,
  noSubscriptionExisted: 0x11,
  malformedPacket: 0x81,
  protocolError: 0x82,
  implementationError: 0x83,
  unsupportedVersion: 0x84,
  clientIdentifierInvalid: 0x85,
  badCredentials: 0x86,
  notAuthorized: 0x87,
  serverUnavailable: 0x88,
  serverBusy: 0x89,
  serverStopping: 0x8b,
  badAuthenticationMethod: 0x8c,
  keepAliveTimeout: 0x8d,
  sessionTakenOver: 0x8e,
  topicFilterInvalid: 0x8f,
  topicNameInvalid: 0x90,
  packetIdentifierUnknown: 0x92,
  receiveMaximumExceeded: 0x93,
  topicAliasInvalid: 0x94,
  packetTooLarge: 0x95,
  quotaExceeded: 0x97,
  payloadInvalid: 0x99,
  connectionRateExceeded: 0x9f,
} as const

export type Reason = (typeof reasons)[keyof typeof reasons]

/** Return codes of CONNACK in MQTT 3.1.1 §3.2.2.3. All other reasons become "server unavailable". */
const returnCodes: ReadonlyMap<Reason, number> = new Map<Reason, number>([
  [reasons.success, 0],
  [reasons.unsupportedVersion, 1],
  [reasons.clientIdentifierInvalid, 2],
  [reasons.badCredentials, 4],
  [reasons.badAuthenticationMethod, 4],
  [reasons.notAuthorized, 5],
])
const serverUnavailable = 3

export function returnCodeOf(reason: Reason): number {
  return returnCodes.get(reason) ?? serverUnavailable
}

/** The reasons for which a client is not accepted. */
export const connectRefusals: Partial<Record<Problem['code'], Reason>> = {
  unauthorized: reasons.badCredentials,
  forbidden: reasons.notAuthorized,
  too_many_requests: reasons.connectionRateExceeded,
  overloaded: reasons.serverBusy,
  stopping: reasons.serverStopping,
}

const refusalReasons: Partial<Record<Problem['code'], Reason>> = {
  forbidden: reasons.notAuthorized,
  device_unknown: reasons.notAuthorized,
  not_found: reasons.topicNameInvalid,
  property_unknown: reasons.topicNameInvalid,
  conflict: reasons.quotaExceeded,
  memory_full: reasons.quotaExceeded,
  overloaded: reasons.quotaExceeded,
  too_many_requests: reasons.quotaExceeded,
}

/** The reason for which a message is refused. */
export function reasonOf({ code, kind }: Problem): Reason {
  return refusalReasons[code] ?? (kind.isTemporary ? reasons.implementationError : reasons.payloadInvalid)
}

/** Bytes that violate the standard or a limit: the connection ends with this reason. */
export class PacketFault extends Error {
  readonly reason: Reason

  constructor(reason: Reason, message: string) {
    super(message)
    this.reason = reason
  }
}

export function malformed(message: string): PacketFault {
  return new PacketFault(reasons.malformedPacket, message)
}

export function protocolError(message: string): PacketFault {
  return new PacketFault(reasons.protocolError, message)
}
