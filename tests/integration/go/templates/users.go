package main

// What s3-proxy's templates know of who is signed in: three kinds of users with the same methods.
type genericUser interface {
	GetType() string
	GetIdentifier() string
	GetUsername() string
	GetName() string
	GetGroups() []string
	GetGivenName() string
	GetFamilyName() string
	GetEmail() string
	IsEmailVerified() bool
}

// A user of any kind, as JSON has it.
type recordedUser struct {
	Type, Username, PreferredUsername, Name, GivenName, FamilyName, Email string
	Groups                                                                []string
	EmailVerified                                                         bool
}

func (user *recordedUser) generic() genericUser {
	switch {
	case user == nil:
		return nil
	case user.Type == "BASIC":
		return &basicUser{user.Username}
	case user.Type == "HEADER":
		return &headerUser{user.Username, user.Email, user.Groups}
	}
	return &oidcUser{
		user.PreferredUsername, user.Name, user.GivenName, user.FamilyName, user.Email, user.Groups, user.EmailVerified,
	}
}

type basicUser struct{ Username string }

func (*basicUser) GetType() string            { return "BASIC" }
func (user *basicUser) GetIdentifier() string { return user.Username }
func (user *basicUser) GetUsername() string   { return user.Username }
func (*basicUser) GetName() string            { return "" }
func (*basicUser) GetGroups() []string        { return nil }
func (*basicUser) GetGivenName() string       { return "" }
func (*basicUser) GetFamilyName() string      { return "" }
func (*basicUser) GetEmail() string           { return "" }
func (*basicUser) IsEmailVerified() bool      { return false }

type headerUser struct {
	Username, Email string
	Groups          []string
}

func (*headerUser) GetType() string            { return "HEADER" }
func (user *headerUser) GetIdentifier() string { return first(user.Username, user.Email) }
func (user *headerUser) GetUsername() string   { return user.Username }
func (*headerUser) GetName() string            { return "" }
func (user *headerUser) GetGroups() []string   { return user.Groups }
func (*headerUser) GetGivenName() string       { return "" }
func (*headerUser) GetFamilyName() string      { return "" }
func (user *headerUser) GetEmail() string      { return user.Email }
func (*headerUser) IsEmailVerified() bool      { return false }

type oidcUser struct {
	PreferredUsername, Name, GivenName, FamilyName, Email string
	Groups                                                []string
	EmailVerified                                         bool
}

func (*oidcUser) GetType() string            { return "OIDC" }
func (user *oidcUser) GetIdentifier() string { return first(user.PreferredUsername, user.Email) }
func (user *oidcUser) GetUsername() string   { return user.PreferredUsername }
func (user *oidcUser) GetName() string       { return user.Name }
func (user *oidcUser) GetGroups() []string   { return user.Groups }
func (user *oidcUser) GetGivenName() string  { return user.GivenName }
func (user *oidcUser) GetFamilyName() string { return user.FamilyName }
func (user *oidcUser) GetEmail() string      { return user.Email }
func (user *oidcUser) IsEmailVerified() bool { return user.EmailVerified }

func first(one, other string) string {
	if one != "" {
		return one
	}
	return other
}
