import { z } from 'zod'
import {
  AckMessage,
  ByeMessage,
  ErrorMessage,
  FirmwareMessage,
  FirmwareStatusMessage,
  HelloMessage,
  ResultMessage,
  ShortAckMessage,
  ShortUpdateMessage,
  UpdateMessage,
  WelcomeMessage,
  WriteMessage,
} from '#model/link-message'

const longDeviceMessages = [HelloMessage, UpdateMessage, ResultMessage, FirmwareStatusMessage, ByeMessage] as const
const longServerMessages = [WelcomeMessage, AckMessage, WriteMessage, FirmwareMessage, ErrorMessage] as const

/** All messages of devices in their long form; faults name the field. */
export const LongDeviceMessage = z.discriminatedUnion('type', longDeviceMessages)

/** All messages of devices. */
export const DeviceMessage = z.union([LongDeviceMessage, ShortUpdateMessage])

/** All messages of the server. */
export const ServerMessage = z.union([z.discriminatedUnion('type', longServerMessages), ShortAckMessage])
