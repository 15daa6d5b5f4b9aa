import { isUpdate, readUpdate, type UpdateFrame } from '#link/update-frame'
import { Problem } from '#model/problem'

/** A frame of a device: an UPDATE, checked, or a message that the schemas have to check. */
export type DeviceFrame = UpdateFrame | BadUpdate | OtherFrame

/** An UPDATE that is refused. */
export interface BadUpdate {
  readonly kind: 'bad_update'
  readonly problem: Problem
  /** As it was decoded. */
  readonly message: unknown
}

interface OtherFrame {
  readonly kind: 'other'
  readonly message: unknown
}

/** `message`: as it was decoded. */
export function deviceFrame(message: unknown): DeviceFrame {
  if (!isUpdate(message)) return { kind: 'other', message }
  const read = readUpdate(message)
  return read instanceof Problem ? { kind: 'bad_update', problem: read, message } : read
}
