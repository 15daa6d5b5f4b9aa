import type { InSlices } from '#rules/bindings'

/** Takes all steps at once. */
export const atOnce: InSlices = (step) => {
  while (step());
}
