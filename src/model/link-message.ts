import { z } from 'zod'
import {
  DeviceIdentifier,
  FirmwareVersion,
  FlakeAddress,
  PropertyId,
  ServiceIdentifier,
  Sha256,
  ShortName,
  Timestamp,
} from '#model/identifier'
import { faultBoundedArray } from '#model/json-value'
import { detailsMax, linkErrorCodes } from '#model/problem'
import { PartialModifier, PropertyTypeName } from '#model/property'
import { PropertyValue } from '#model/property-type'

/**
 * Messages between devices and the server over a link, and the body of `POST /link`. Contract 7.
 *
 * Long forms are objects with `type`; UPDATE and ACK have a short form, an array that begins with a letter. Unknown
 * fields of frames are ignored, so that newer devices can talk to older servers; unknown fields of the body are refused
 * (contract 1.5). Values are checked against their property's type later; here they must only be present.
 */

/** Maximum number of services of one device. Contract 3.11. */
export const servicesMax = 64

/**
 * Maximum number of properties of one service, and of updates in one message, so that one event stays readable.
 * Contract 3.11.
 */
export const propertiesMax = 1_024

/** Maximum number of updates in one `POST /link`: enough for several full services. They are stored in one commit. */
export const postUpdatesMax = 4_096

/** The length of a UUID as text. Contract 7. */
export const sessionCharactersMax = 36

/** The largest index of a firmware. DEVICE_DISCOVERY numbers the items of a firmware from 16 × (index + 1). */
export const firmwareIndexMax = 255

/** Maximum length of the id of a command, which the server assigns and the device returns unchanged. */
export const commandIdCharactersMax = 36

/** Maximum length of an error message of a device: long enough for a line on a screen. */
export const messageCharactersMax = 1_024

/** Maximum number of unacknowledged UPDATEs on one link. Contract 7. */
export const linkWindowMessages = 1_024

/** No lone surrogates, as in values: storing them as UTF-8 would change them. */
const text = z.string().refine((text) => text.isWellFormed(), 'must be well-formed Unicode')
const session = text.min(1).max(sessionCharactersMax)
const note = text.max(messageCharactersMax)
const commandId = z.string().min(1).max(commandIdCharactersMax)
const percent = z.number().min(0).max(100)
const firmwareIndex = z.int().min(0).max(firmwareIndexMax)

/** Number of a message in its session, from 1. In WELCOME, 0 means that none is stored. Contract 7. */
export const LinkSequence = z.int().min(1)
const lastSequence = z.int().min(0)

const anyValue = z.unknown().refine((value) => value !== undefined, 'is required')

/** Data types in any case, as in services and schemas; the result is in upper case. */
const typeName = z.string().toUpperCase().pipe(PropertyTypeName)

const declared = { propId: PropertyId, type: typeName, value: z.unknown().optional() }
/** One property of a service of a HELLO. */
export const PropertyDeclaration = z.object({ ...declared, modifier: PartialModifier.optional() })
const StrictPropertyDeclaration = z.strictObject({ ...declared, modifier: PartialModifier.strict().optional() })

const ServiceDeclaration = z.object({
  serviceIdentifier: ServiceIdentifier,
  properties: propertiesOf(PropertyDeclaration),
})
const StrictServiceDeclaration = z.strictObject({
  serviceIdentifier: ServiceIdentifier,
  properties: propertiesOf(StrictPropertyDeclaration),
})

const FirmwareDeclaration = z.object({
  firmware: FirmwareVersion,
  hardware: ShortName.optional(),
  index: firmwareIndex,
})

const ValueUpdate = z.object({ propId: PropertyId, value: anyValue, error: z.never().optional() })
const ErrorUpdate = z.object({ propId: PropertyId, error: note, value: z.never().optional() })

/** The description of a device and its services. It replaces the earlier declaration. */
export const HelloMessage = z.object({
  type: z.literal('HELLO'),
  deviceIdentifier: DeviceIdentifier,
  session: session.optional(),
  project: ShortName.optional(),
  firmwares: uniqueBy('index', FirmwareDeclaration, firmwareIndexMax + 1).optional(),
  autoUpdate: z.boolean().default(true),
  services: uniqueBy('serviceIdentifier', ServiceDeclaration, servicesMax),
})
export type HelloMessage = Readonly<z.infer<typeof HelloMessage>>

export type ServiceDeclaration = HelloMessage['services'][number]

const HelloHead = HelloMessage.extend({ services: z.array(z.unknown()).max(servicesMax) })
export type HelloHead = Readonly<z.infer<typeof HelloHead>>
/** A service without validating its properties, as in `MessageHead`. */
export const ServiceHead = ServiceDeclaration.extend({ properties: z.array(z.unknown()).max(propertiesMax) })

/** Values of one service, or errors in their place, in the order they arose. */
export const UpdateMessage = z.object({
  type: z.literal('UPDATE'),
  flakeAddress: FlakeAddress,
  seq: LinkSequence,
  serviceIdentifier: ServiceIdentifier,
  updates: z
    .array(z.union([ValueUpdate, ErrorUpdate]))
    .min(1)
    .max(propertiesMax),
  timestamp: Timestamp.optional(),
})

const pairs = z
  .array(z.unknown())
  .min(2)
  .max(2 * propertiesMax)
  .superRefine((items, context) => {
    if (items.length % 2 !== 0) context.addIssue({ code: 'custom', message: 'must be pairs of propId and value' })
    for (let index = 0; index < items.length; index += 2) {
      if (!PropertyId.safeParse(items[index]).success) {
        context.addIssue({ code: 'custom', path: [index], message: 'must be a property id' })
      }
      if (items[index + 1] === undefined)
        context.addIssue({ code: 'custom', path: [index + 1], message: 'is required' })
    }
  })

const shortUpdate = [
  z.literal('U'),
  FlakeAddress,
  LinkSequence,
  z
    .int()
    .min(0)
    .max(servicesMax - 1),
  pairs,
] as const

/** `["U", flakeAddress, seq, serviceIndex, [propId, value, …], timestamp?]`; an error is `{"e": "…"}` as value. */
export const ShortUpdateMessage = z.union([z.tuple([...shortUpdate]), z.tuple([...shortUpdate, Timestamp])])

export const WriteResult = z.object({
  propId: PropertyId,
  status: z.enum(['OK', 'REJECTED']),
  message: note.optional(),
})

export const ResultMessage = z.object({
  type: z.literal('RESULT'),
  flakeAddress: FlakeAddress,
  id: commandId,
  results: uniqueBy('propId', WriteResult, propertiesMax),
})
export type ResultMessage = Readonly<z.infer<typeof ResultMessage>>
const ResultHead = ResultMessage.extend({ results: z.array(z.unknown()).max(propertiesMax) })
export type ResultHead = Readonly<z.infer<typeof ResultHead>>

/** The progress of a FIRMWARE on the device; `progress` in percent. */
export const FirmwareStatusMessage = z.object({
  type: z.literal('FIRMWARE_STATUS'),
  flakeAddress: FlakeAddress,
  id: commandId,
  status: z.enum(['STARTED', 'NOT_OK', 'DOWNLOADING', 'INSTALLING', 'INSTALLED', 'FAILED']),
  progress: percent.optional(),
  message: note.optional(),
})
export type FirmwareStatusMessage = Readonly<z.infer<typeof FirmwareStatusMessage>>

/** The device disconnects; other devices stay connected by the same link. */
export const ByeMessage = z.object({ type: z.literal('BYE'), flakeAddress: FlakeAddress })

/**
 * `seq`: the number of the last stored message of this session; 0 if there is none. `secret`: once, at the first
 * registration by a provisioning key.
 */
export const WelcomeMessage = z.object({
  type: z.literal('WELCOME'),
  flakeAddress: FlakeAddress,
  deviceIdentifier: DeviceIdentifier,
  seq: lastSequence,
  window: z.int().min(1),
  timestamp: Timestamp,
  secret: z.string().optional(),
})

/** Every message up to `seq` is stored or was refused for its content. */
export const AckMessage = z.object({ type: z.literal('ACK'), flakeAddress: FlakeAddress, seq: lastSequence })

/** `["A", flakeAddress, seq]`, for devices that send short forms. */
export const ShortAckMessage = z.tuple([z.literal('A'), FlakeAddress, lastSequence])

/** Asks the device to change properties; may be sent several times with the same `id`. */
export const WriteMessage = z.object({
  type: z.literal('WRITE'),
  flakeAddress: FlakeAddress,
  id: commandId,
  serviceIdentifier: ServiceIdentifier,
  updates: uniqueBy('propId', z.object({ propId: PropertyId, value: anyValue }), propertiesMax).min(1),
})

/** Offers a firmware. `sha256` in lower-case hex, `size` in bytes. */
export const FirmwareMessage = z.object({
  type: z.literal('FIRMWARE'),
  flakeAddress: FlakeAddress,
  id: commandId,
  firmware: FirmwareVersion,
  hardware: ShortName.optional(),
  index: firmwareIndex,
  url: z.url(),
  sha256: Sha256,
  size: z.int().min(0),
})

/** An error for the message `seq` or for the device; without `seq` and `flakeAddress`, for the link. */
export const ErrorMessage = z.object({
  type: z.literal('ERROR'),
  code: z.enum(linkErrorCodes),
  message: z.string(),
  flakeAddress: FlakeAddress.optional(),
  seq: lastSequence.optional(),
})

/**
 * A message other than UPDATE, without validating lists that may hold thousands of items: services and results are read
 * one by one, up to the first fault. Validating all items at once would block the server, and for longer if each item
 * has a fault.
 */
export const MessageHead = z.discriminatedUnion('type', [HelloHead, ResultHead, FirmwareStatusMessage, ByeMessage])

/** Body of `POST /link`: one message of a device without a connection. Its values are plain JSON. */
export const LinkBody = z.strictObject({
  deviceIdentifier: DeviceIdentifier,
  session: session.optional(),
  seq: LinkSequence.optional(),
  services: uniqueBy('serviceIdentifier', StrictServiceDeclaration, servicesMax).optional(),
  updates: faultBoundedArray(
    z.strictObject({
      serviceIdentifier: ServiceIdentifier,
      propId: PropertyId,
      value: PropertyValue,
      timestamp: Timestamp.optional(),
    }),
  ).max(postUpdatesMax),
})

/** An array of objects whose values in one field are unique, after normalisation. */
function uniqueBy<K extends string, S extends z.ZodType<Record<K, unknown>>>(field: K, item: S, itemsMax: number) {
  return faultBoundedArray(item)
    .max(itemsMax, { abort: true })
    .superRefine((items, context) => {
      const seen = new Set<unknown>()
      for (const [index, each] of items.entries()) {
        if (seen.has(each[field])) context.addIssue({ code: 'custom', path: [index, field], message: 'is a duplicate' })
        if (context.issues.length >= detailsMax) break
        seen.add(each[field])
      }
    })
}

function propertiesOf<S extends z.ZodType<{ propId: number }>>(item: S) {
  return uniqueBy('propId', item, propertiesMax)
}
