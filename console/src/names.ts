/** How somebody is called: by both names, or by their address where they have none. */
export function nameOf(user: { readonly user_name: string; readonly email: string }): string {
  return user.user_name.trim() === '' ? user.email : user.user_name;
}
